//! What servers say about their limits, and what we make of it.

mod allocations;
mod any_bytes;
mod cases;
mod ietf;
mod models;
mod no_panic;
mod services;
mod support;
mod traps;
