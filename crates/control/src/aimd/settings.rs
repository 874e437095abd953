use crate::{Bounds, Invalid};

/// What moves an [`Aimd`](crate::Aimd); every field may be changed while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdSettings {
    /// Added after a good window, requests; above 0, default 1.
    pub step: f64,
    /// What a cut leaves, `0.0..1.0`; default 0.5 (RFC 5681 §3.1).
    pub backoff: f64,
    /// Share of overloads above which the limit is cut, `0.0..1.0`; default 0.05.
    pub threshold: f64,
    /// Between which limits it moves.
    pub bounds: Bounds,
}

impl Default for AimdSettings {
    fn default() -> Self {
        Self {
            step: 1.0,
            backoff: 0.5,
            threshold: 0.05,
            bounds: Bounds::default(),
        }
    }
}

impl AimdSettings {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let share = 0.0..1.0;
        if !(self.step > 0.0 && self.step.is_finite()) {
            return Err(Invalid::new("step", self.step, "finite and above 0"));
        }
        if !share.contains(&self.backoff) {
            return Err(Invalid::new("backoff", self.backoff, "from 0 to below 1"));
        }
        if !share.contains(&self.threshold) {
            return Err(Invalid::new(
                "threshold",
                self.threshold,
                "from 0 to below 1",
            ));
        }
        Ok(())
    }
}
