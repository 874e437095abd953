//! The door as its callers see it. Times are exact milliseconds on tokio's paused clock, unless a
//! test needs threads.

mod bounds;
mod closing;
mod cooldown;
mod hands;
mod leases;
mod limit;
mod observers;
mod order;
mod pace;
mod parked;
mod pause;
mod runtimes;
mod scale;
mod stress;
mod support;
mod threads;
mod wakers;
