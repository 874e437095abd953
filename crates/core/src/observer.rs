use std::fmt::Debug;
use std::time::{Duration, Instant};

use crate::{Change, Refused, Sample};

/// Hears what happens at a layer: for histories, pictures, metrics and logs.
///
/// It is called on the way of a request, outside of every lock, by whichever thread was answered:
/// two threads may come in another order than that of their times. It should be quick, and not panic.
/// Each method does nothing unless it is written, and a request that need not wait costs no call but
/// [`on_sample`](Self::on_sample).
pub trait Observer: Debug + Send + Sync {
    /// The outcome of a request became known, where a law hears of it.
    fn on_sample(&self, now: Instant, sample: &Sample) {
        let _ = (now, sample);
    }

    /// A law moved the setting, or was changed through its handle; or its loop found, when it looked
    /// next, that somebody had moved the limit.
    ///
    /// At a plain gate or rate: its limit, its first pace or a pause was moved by hand.
    ///
    /// Of other moves nobody is told: not of closing, nor of the second of several paces; at a law's
    /// handle not of a pace or a pause by hand; at a plain gate or rate not of what a service asks for.
    fn on_change(&self, now: Instant, change: &Change) {
        let _ = (now, change);
    }

    /// A request entered that had to wait for it, and for how long. One that need not wait is not
    /// told of.
    fn on_wait(&self, now: Instant, waited: Duration) {
        let _ = (now, waited);
    }

    /// A request was refused, after so long a wait: nothing was sent.
    fn on_refused(&self, now: Instant, refused: &Refused, waited: Duration) {
        let _ = (now, refused, waited);
    }

    /// An attempt has failed, and it is decided that one with this number follows it, after so long: 2
    /// is the first retry. That comes before the back-off: the retry may still be refused by a layer
    /// below, or given up before its turn, and never be sent.
    fn on_retry(&self, now: Instant, attempt: u32, after: Duration) {
        let _ = (now, attempt, after);
    }

    /// A retry does not send again what might have passed: why, in a word such as `budget` or
    /// `attempts`, and how often it was sent. Its caller gets the last answer, or an error.
    ///
    /// Nobody is told where nothing is to be sent again: after a success, a failure that would not
    /// pass, or a refusal before anything was sent, and where the caller itself gave up.
    fn on_gave_up(&self, now: Instant, why: &'static str, sent: u32) {
        let _ = (now, why, sent);
    }
}
