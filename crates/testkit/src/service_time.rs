use std::time::Duration;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, LogNormal, Pareto};

/// How long a worker is busy with one request.
///
/// Each arrival draws once, in order of arrival, so that equal seeds give equal times. No draw is
/// longer than a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// Always as long.
    Fixed(Duration),
    /// Exponential with this mean: as often short as service times get.
    Exponential(Duration),
    /// Log-normal: a long tail, all moments finite.
    LogNormal {
        /// Mean, above zero.
        mean: Duration,
        /// Coefficient of variation: standard deviation / mean, `0.0..`.
        cv: f64,
    },
    /// Pareto: a tail so long that rare requests carry most of the work.
    Pareto {
        /// Mean, above zero; the shortest is `mean · (alpha − 1) / alpha`.
        mean: Duration,
        /// Shape, `1.0..` without the 1; below 2 the variance is infinite.
        alpha: f64,
    },
    /// Two kinds of requests; each time is drawn within 20 % of its kind's.
    Bimodal {
        /// Share of slow requests, `0.0..=1.0`.
        slow_share: f64,
        /// How long the others take.
        fast: Duration,
        /// How long the slow ones take.
        slow: Duration,
    },
}

const LONGEST: Duration = Duration::from_secs(86_400);

impl ServiceTime {
    /// What makes the numbers nonsense, if anything.
    pub(crate) fn nonsense(&self) -> Option<&'static str> {
        let (sense, rule) = match *self {
            Self::Fixed(_) => (true, ""),
            Self::Exponential(mean) => (!mean.is_zero(), "a mean is above zero"),
            Self::LogNormal { mean, cv } => (
                !mean.is_zero() && cv.is_finite() && cv >= 0.0,
                "a mean is above zero and cv is finite and not below zero",
            ),
            Self::Pareto { mean, alpha } => (
                !mean.is_zero() && alpha.is_finite() && alpha > 1.0,
                "a mean is above zero and alpha is finite and above 1",
            ),
            Self::Bimodal { slow_share, .. } => (
                (0.0..=1.0).contains(&slow_share),
                "slow_share is within 0.0..=1.0",
            ),
        };
        (!sense).then_some(rule)
    }

    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Duration {
        let seconds = match *self {
            Self::Fixed(time) => return time.min(LONGEST),
            Self::Exponential(mean) => {
                let unit: f64 = Exp1.sample(rng);
                mean.as_secs_f64() * unit
            }
            Self::LogNormal { mean, cv } => LogNormal::from_mean_cv(mean.as_secs_f64(), cv)
                .expect("the builder checked it")
                .sample(rng),
            Self::Pareto { mean, alpha } => {
                let shortest = mean.as_secs_f64() * (alpha - 1.0) / alpha;
                Pareto::new(shortest, alpha)
                    .expect("the builder checked it")
                    .sample(rng)
            }
            Self::Bimodal {
                slow_share,
                fast,
                slow,
            } => {
                let kind = if rng.random_bool(slow_share) {
                    slow
                } else {
                    fast
                };
                kind.as_secs_f64() * rng.random_range(0.8..1.2)
            }
        };
        Duration::try_from_secs_f64(seconds).map_or(LONGEST, |time| time.min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    use super::*;

    const MEAN: Duration = Duration::from_millis(20);

    fn draws(time: ServiceTime, count: u32) -> impl Iterator<Item = Duration> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..count).map(move |_| time.draw(&mut rng))
    }

    fn mean(time: ServiceTime) -> f64 {
        let count = 200_000;
        draws(time, count).sum::<Duration>().as_secs_f64() / f64::from(count)
    }

    #[test]
    fn every_distribution_has_the_mean_it_says() {
        for time in [
            ServiceTime::Fixed(MEAN),
            ServiceTime::Exponential(MEAN),
            ServiceTime::LogNormal {
                mean: MEAN,
                cv: 1.5,
            },
            ServiceTime::Pareto {
                mean: MEAN,
                alpha: 3.0,
            },
            ServiceTime::Bimodal {
                slow_share: 0.1,
                fast: Duration::from_millis(10),
                slow: Duration::from_millis(110),
            },
        ] {
            let off = mean(time) / MEAN.as_secs_f64() - 1.0;
            assert!(off.abs() < 0.02, "{time:?} is off by {off}");
        }
    }

    #[test]
    fn a_pareto_time_is_never_below_its_shortest() {
        let time = ServiceTime::Pareto {
            mean: MEAN,
            alpha: 2.0,
        };
        let shortest = draws(time, 10_000).min().unwrap();
        assert!(shortest >= MEAN / 2 && shortest < MEAN * 51 / 100);
    }

    #[test]
    fn a_bimodal_time_is_within_a_fifth_of_its_kind() {
        let (fast, slow) = (Duration::from_millis(10), Duration::from_millis(100));
        let time = ServiceTime::Bimodal {
            slow_share: 0.3,
            fast,
            slow,
        };
        for drawn in draws(time, 10_000) {
            let kind = if drawn < slow / 2 { fast } else { slow };
            assert!(drawn >= kind * 8 / 10 && drawn <= kind * 12 / 10);
        }
    }

    #[test]
    fn the_heaviest_tail_ends_within_a_day() {
        let time = ServiceTime::Pareto {
            mean: Duration::from_secs(80_000),
            alpha: 1.000_1,
        };
        assert!(draws(time, 10_000).all(|drawn| drawn <= LONGEST));
        assert_eq!(
            draws(ServiceTime::Fixed(Duration::MAX), 1).max(),
            Some(LONGEST)
        );
    }

    #[test]
    fn nonsense_is_named() {
        for time in [
            ServiceTime::Exponential(Duration::ZERO),
            ServiceTime::LogNormal {
                mean: MEAN,
                cv: -1.0,
            },
            ServiceTime::Pareto {
                mean: MEAN,
                alpha: 1.0,
            },
            ServiceTime::Bimodal {
                slow_share: f64::NAN,
                fast: MEAN,
                slow: MEAN,
            },
        ] {
            assert!(time.nonsense().is_some(), "{time:?}");
        }
        assert_eq!(ServiceTime::Fixed(Duration::ZERO).nonsense(), None);
    }
}
