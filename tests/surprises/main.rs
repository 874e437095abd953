//! What surprises users of a limit: each claim of `docs/surprises.md` as a test.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/page.rs"]
mod page;
#[path = "../support/recording.rs"]
mod recording;
#[path = "../support/mod.rs"]
mod support;

mod bottleneck;
mod connections;
mod empty_bodies;
mod redirects;
mod refusals;
mod resent;
mod upgrades;
