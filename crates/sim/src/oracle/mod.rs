//! The yardstick: the best that a fixed setting could do.

mod file;
mod guess;
mod sweep;
mod yardstick;

pub use file::OracleFile;
pub use yardstick::Oracle;
