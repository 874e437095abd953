//! A retry over upstreams that fail, above gates and beside other retries.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/strict.rs"]
mod strict;
#[path = "../support/mod.rs"]
mod support;

mod answers;
mod bodies;
mod budgets;
mod clauses;
mod common;
mod connections;
mod costs;
mod deadlines;
mod doors;
mod gate;
mod matrix;

mod nested;
mod observers;

mod over_reqwest;
mod policy;
mod program;
mod storm;
mod streams;
