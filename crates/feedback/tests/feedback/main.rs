//! What a law hears of each request, and what it does to the door.

mod bodies;
mod calls;
mod door;
mod drops;
mod service;
mod support;
