use tidegate_core::Outcome;

/// Counts a batch: as many answers as the limit was when it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    answers: u32,
    failed: u32,
}

impl Tally {
    /// One more answer. The failure rate of the batch, once it is complete.
    pub(super) fn count(&mut self, outcome: Outcome, size: u32) -> Option<f64> {
        if outcome == Outcome::Ignored {
            return None;
        }
        self.answers += 1;
        self.failed += u32::from(!outcome.is_success());
        if self.answers < size {
            return None;
        }
        let rate = f64::from(self.failed) / f64::from(self.answers);
        *self = Self::default();
        Some(rate)
    }
}
