use crate::Invalid;

/// Between which limits a law moves: `1 <= min <= max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    min: usize,
    max: usize,
}

impl Default for Bounds {
    /// From 1 to 5,000.
    fn default() -> Self {
        Self { min: 1, max: 5_000 }
    }
}

impl Bounds {
    /// From `min` to `max`.
    ///
    /// # Errors
    ///
    /// Unless `1 <= min <= max`.
    pub fn new(min: usize, max: usize) -> Result<Self, Invalid> {
        let valid = (1..=max).contains(&min);
        valid.then_some(Self { min, max }).ok_or(Invalid::new(
            "a limit's bounds",
            min as f64,
            "from 1 to max",
        ))
    }

    /// The least limit.
    pub fn min(&self) -> usize {
        self.min
    }

    /// The greatest limit.
    pub fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn clamp(&self, limit: f64) -> f64 {
        let (min, max) = (self.min as f64, self.max as f64);
        // Not `f64::clamp`, which keeps a NaN.
        limit.max(min).min(max)
    }
}
