//! What servers say about their limits, and what we make of it.

mod allocations;
mod any_bytes;
mod cases;
mod dialects;
mod no_panic;
mod support;
mod traps;
