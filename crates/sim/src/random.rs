use std::f64::consts::TAU;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The one source of chance of a run: xoshiro256++, seeded through SplitMix64.
///
/// The algorithm is fixed, and so is every transform from its bits to a number, so a seed means the
/// same run in every version.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

/// 2⁻⁵³: a `u64` shifted to 53 bits times this is a `f64` in `0.0..1.0`.
const ULP: f64 = 1.0 / 9_007_199_254_740_992.0;

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * ULP
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller 1958, the cosine half).
    pub(crate) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (TAU * self.unit()).cos()
    }
}
