//! The sensor: what a law hears of each request, whatever becomes of it, through real clients.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/page.rs"]
mod page;
#[path = "../support/recording.rs"]
mod recording;
#[path = "../support/mod.rs"]
mod support;

mod agree;
mod bodies;
mod exact;
mod faults;
mod lifecycle;
mod patience;
mod plan;
mod run;
mod types;
