//! What is simulated: a service, the way to it, and who wants what of it.

mod distribution;
mod error;
mod load;
mod model;
mod scalar;
mod server;
mod step;
mod text;

pub use distribution::Distribution;
pub(crate) use distribution::Sampler;
pub use error::ScenarioError;
pub use load::{Dump, Load, Piece};
pub use model::Scenario;
pub use server::{Server, ServerKind};
pub use step::{Background, Step};
