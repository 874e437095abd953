//! The door as its callers see it. Times are exact milliseconds on tokio's paused clock, unless a
//! test needs threads.

mod limit;
mod order;
mod pace;
mod support;
