//! Batches through stacks of layers, on real clients.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/mod.rs"]
mod support;

mod redirects;
mod shutdown;
mod stacks;
