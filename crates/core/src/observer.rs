use std::fmt::Debug;
use std::time::Instant;

use crate::{Change, Sample};

/// Hears what a law hears and what it does: for histories, pictures and metrics.
///
/// It is called on the way of a request, outside of every lock, by whichever thread was answered:
/// two threads may come in another order than that of their times. It should be quick, and not panic.
pub trait Observer: Debug + Send + Sync {
    /// The outcome of a request became known.
    fn on_sample(&self, now: Instant, sample: &Sample);

    /// The law, or an operator, moved the setting.
    fn on_change(&self, now: Instant, change: &Change);
}
