//! A gate under and over other layers.

mod clauses;
mod contract;
mod errors;
mod logged;
#[path = "../support/loopback.rs"]
mod loopback;
mod refusals;
mod retry;
mod stack;
#[path = "../support/strict.rs"]
mod strict;
#[path = "../support/mod.rs"]
mod support;
mod timeouts;
