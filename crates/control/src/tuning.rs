//! P, then I, then D: what a simulated service shows at each step.
//!
//! All pictures are of `b4`, 100 workers without a queue, 60 ms from send to answer, and of the default
//! setpoint, 5 %, with seed 1. Each dip, ten seconds apart, is a probe. Shares and goodput in the text are
//! means of seeds 1 and 2, unless they name one.
//!
//! # P alone: the share stops anywhere
//!
//! ```text
//! tidegate-sim trace crates/sim/scenarios/b4.toml --law governor:kp=0.1,ki=0,kd=0 --svg p.svg
//! ```
//!
//! With seed 1 the limit stands at 128 and a third of all requests is refused, for as long as one looks:
//! P answers to a share that moves, and this one stands still. With seed 2 it stops at one half.
//!
#![doc = include_str!("../docs/tuning/p.svg")]
//!
//! # P and I: the steady error is gone
//!
//! ```text
//! tidegate-sim trace crates/sim/scenarios/b4.toml --law governor:kp=0.1,ki=0.18,kd=0 --svg pi.svg
//! ```
//!
//! 2.8 % are refused on average: short bursts of 5 to 15 %, after each of which the limit goes back.
//! It moves in a saw between 90 and 115.
//!
#![doc = include_str!("../docs/tuning/pi.svg")]
//!
//! # Too much I: little more than lost goodput
//!
//! ```text
//! tidegate-sim trace crates/sim/scenarios/b4.toml --law governor:kp=0.1,ki=4,kd=0 --svg pi-much.svg
//! ```
//!
//! With more than twenty times the gain the saw is finer and a little deeper, goodput falls from 0.94
//! to 0.93 of the best fixed limit's and 3.1 % are refused. It does not grow into the swings that a
//! textbook promises, since no round takes more than a quarter of the limit and the queue, not the
//! gain, decides how fast it comes back.
//!
#![doc = include_str!("../docs/tuning/pi-much.svg")]
//!
//! # P, I and D: the defaults
//!
//! ```text
//! tidegate-sim trace crates/sim/scenarios/b4.toml --law governor:kp=0.1,ki=0.18,kd=0.1 --svg pid.svg
//! ```
//!
//! Next to P and I alone there is little to see: 2.8 % refused, goodput 0.94 in both. Ten times more
//! of it (`kd=1`) costs, goodput 0.92: on this service D has nothing to calm.
//!
#![doc = include_str!("../docs/tuning/pid.svg")]
