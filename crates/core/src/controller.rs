use std::fmt::Debug;
use std::time::Instant;

use crate::{Change, Sample, Setting};

/// A law: samples in, a [`Setting`] out.
///
/// A law is a value that somebody steps. It reads no clock (`now` is an argument), takes no lock
/// and does no I/O, so the same law runs in a layer, in a simulator and in a test.
///
/// ```
/// use std::time::Instant;
/// use tidegate_core::{Change, Controller, Reason, Sample, Setting};
///
/// /// One more for each success, half for each overload.
/// #[derive(Debug)]
/// struct Naive(f64);
///
/// impl Controller for Naive {
///     fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
///         let from = self.setting();
///         self.0 = if sample.outcome.is_overload() { (self.0 / 2.0).max(1.0) } else { self.0 + 1.0 };
///         Some(Change { from, to: self.setting(), reason: Reason::Other("naive") })
///     }
///     fn setting(&self) -> Setting {
///         Setting::limit(self.0)
///     }
///     fn move_to(&mut self, _now: Instant, limit: f64) {
///         self.0 = limit;
///     }
/// }
/// ```
pub trait Controller: Debug + Send {
    /// A request is sent. `in_flight` counts it.
    fn on_start(&mut self, now: Instant, in_flight: usize) {
        let _ = (now, in_flight);
    }

    /// Whether the next [`on_start`](Self::on_start) does anything: a law that says no saves each
    /// request a lock. Asked after each step. Default: yes.
    fn watches_starts(&self) -> bool {
        true
    }

    /// The outcome of a request became known. Answers with the change it led to, if any.
    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change>;

    /// What the law asks for now.
    fn setting(&self) -> Setting;

    /// The share of failures that it aims at, from 0 to 1. Default: it has none.
    fn setpoint(&self) -> Option<f64> {
        None
    }

    /// An operator moved the limit: go on from there, without a jump of your own.
    fn move_to(&mut self, now: Instant, limit: f64);
}
