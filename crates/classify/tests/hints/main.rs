//! What servers say about their limits, and what we make of it.

mod allocations;
mod cases;
mod dialects;
mod support;
mod traps;
