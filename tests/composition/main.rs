//! A gate under and over other layers.

mod clauses;
mod contract;
mod errors;
#[path = "../support/loopback.rs"]
mod loopback;
mod retry;
mod stack;
#[path = "../support/strict.rs"]
mod strict;
#[path = "../support/mod.rs"]
mod support;
mod timeouts;
