use std::time::Duration;

use crate::random::Random;

/// How long something takes, drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Plain(Duration),
    /// Exponential, with this mean.
    Exponential(Duration),
    /// Log-normal.
    Lognormal {
        /// Mean of the time itself, not of its logarithm.
        mean: Duration,
        /// Deviation over mean; at least 0.
        cv: f64,
    },
    /// Pareto, from `mean · (α − 1) / α` upwards.
    Pareto {
        /// Mean.
        mean: Duration,
        /// Tail exponent; above 1.
        alpha: f64,
    },
    /// One of two times, each spread evenly over ±20 %.
    Bimodal {
        /// Share of slow ones, `0.0..=1.0`.
        slow_share: f64,
        /// Mean of the others.
        fast: Duration,
        /// Mean of the slow ones.
        slow: Duration,
    },
}

impl Distribution {
    /// Mean, in seconds.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Plain(mean)
            | Self::Exponential(mean)
            | Self::Lognormal { mean, .. }
            | Self::Pareto { mean, .. } => mean.as_secs_f64(),
            Self::Bimodal {
                slow_share,
                fast,
                slow,
            } => slow_share * slow.as_secs_f64() + (1.0 - slow_share) * fast.as_secs_f64(),
        }
    }
}

/// A [`Distribution`] with its constants worked out; draws nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sampler {
    Plain(u64),
    Exponential {
        mean: f64,
    },
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    Pareto {
        least: f64,
        exponent: f64,
    },
    Bimodal {
        slow_share: f64,
        fast: f64,
        slow: f64,
    },
}

impl From<&Distribution> for Sampler {
    fn from(distribution: &Distribution) -> Self {
        let nanos = |duration: Duration| duration.as_nanos() as f64;
        match *distribution {
            Distribution::Plain(time) => Self::Plain(time.as_nanos() as u64),
            Distribution::Exponential(mean) => Self::Exponential { mean: nanos(mean) },
            Distribution::Lognormal { mean, cv } => {
                let variance = (1.0 + cv * cv).ln();
                Self::Lognormal {
                    mu: nanos(mean).ln() - variance / 2.0,
                    sigma: variance.sqrt(),
                }
            }
            Distribution::Pareto { mean, alpha } => Self::Pareto {
                least: nanos(mean) * (alpha - 1.0) / alpha,
                exponent: -1.0 / alpha,
            },
            Distribution::Bimodal {
                slow_share,
                fast,
                slow,
            } => Self::Bimodal {
                slow_share,
                fast: nanos(fast),
                slow: nanos(slow),
            },
        }
    }
}

impl Sampler {
    /// A time in nanoseconds.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let nanos = match *self {
            Self::Plain(nanos) => return nanos,
            Self::Exponential { mean } => mean * random.exponential(),
            Self::Lognormal { mu, sigma } => (mu + sigma * random.normal()).exp(),
            Self::Pareto { least, exponent } => least * (1.0 - random.unit()).powf(exponent),
            Self::Bimodal {
                slow_share,
                fast,
                slow,
            } => {
                let mean = if random.unit() < slow_share {
                    slow
                } else {
                    fast
                };
                mean * (0.8 + 0.4 * random.unit())
            }
        };
        nanos.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distribution_has_the_mean_it_is_named_for() {
        let ms = Duration::from_millis;
        let (fast, slow, mean) = (ms(5), ms(200), ms(20));
        for distribution in [
            Distribution::Plain(mean),
            Distribution::Exponential(mean),
            Distribution::Lognormal { mean, cv: 0.8 },
            Distribution::Pareto { mean, alpha: 3.0 },
            Distribution::Bimodal {
                slow_share: 0.1,
                fast,
                slow,
            },
        ] {
            let sampler = Sampler::from(&distribution);
            let mut random = Random::new(1);
            let count = 400_000;
            let sum: u64 = (0..count).map(|_| sampler.draw(&mut random)).sum();
            let mean = sum as f64 / f64::from(count) / 1e9;
            let off = (mean / distribution.mean() - 1.0).abs();
            assert!(off < 0.01, "{distribution:?}: {mean}");
        }
    }

    #[test]
    fn a_lognormal_has_the_deviation_it_is_given() {
        let mean = Duration::from_millis(20);
        let sampler = Sampler::from(&Distribution::Lognormal { mean, cv: 0.5 });
        let mut random = Random::new(2);
        let draws: Vec<f64> = (0..200_000)
            .map(|_| sampler.draw(&mut random) as f64 / 20e6)
            .collect();
        let variance = draws.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>() / 200_000.0;
        assert!((variance.sqrt() - 0.5).abs() < 0.01, "{variance}");
    }
}
