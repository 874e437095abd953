//! The models of a server: who is served when, and who is refused.

mod bucket;
mod fifo;
mod sharing;
mod station;
mod window;

pub(crate) use station::{Offer, Station};
