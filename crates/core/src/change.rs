use std::fmt;
use std::time::Duration;

use crate::Setting;

/// A move of a [`Setting`], and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Before.
    pub from: Setting,
    /// After.
    pub to: Setting,
    /// Why.
    pub reason: Reason,
}

/// Why a setting moved, in words a person can read.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// An operator moved it.
    Manual,
    /// Too large a share of the requests was overloaded.
    Overloaded {
        /// How many of them were overloads.
        overloaded: u32,
        /// How many answers were counted.
        of: u32,
        /// The share above which the law cuts, `0.0..=1.0`.
        threshold: f64,
    },
    /// The limit was in use, and a small enough share was overloaded.
    Healthy {
        /// How many of them were overloads.
        overloaded: u32,
        /// How many answers were counted.
        of: u32,
        /// The share above which the law cuts, `0.0..=1.0`.
        threshold: f64,
    },
    /// The share of failed requests is held at the one that is accepted.
    Failing {
        /// How many requests failed.
        failed: u32,
        /// How many answers were counted.
        of: u32,
        /// The share to hold, `0.0..=1.0`: the setpoint, and on top of it what fails whatever the limit.
        accepted: f64,
    },
    /// The service asked us to stay away for this long.
    RetryAfter(Duration),
    /// At the start: one more for each success.
    Starting,
    /// The limit was in use and fewer requests stand in a queue than may.
    Room {
        /// How many of our requests stand in a queue.
        queued: f64,
        /// How many may.
        target: f64,
    },
    /// More requests stand in a queue than may.
    Queued {
        /// Latency, in multiples of its base.
        growth: f64,
        /// How many of our requests stand in a queue.
        queued: f64,
    },
    /// Fewer for one round, to see whether latency falls.
    Probing,
    /// Fewer again: latency fell with the requests, so it may fall further.
    ProbingDeeper {
        /// Latency now, in parts of the one before the probe.
        fell: f64,
    },
    /// Back from a probe.
    Probed {
        /// Latency without a queue of ours.
        base: Duration,
    },
    /// A probe ended without a new base.
    ProbeFailed,
    /// Every request was refused or lost.
    Dead {
        /// How many since the last success.
        overloads: u32,
    },
    /// A success after an outage.
    Alive,
    /// Overloads that more or fewer requests in flight do not explain: the service limits a rate.
    RateFound {
        /// The rate that it lets through.
        per_second: f64,
    },
    /// The rate it lets through may have grown.
    RateTried {
        /// The rate to try.
        per_second: f64,
    },
    /// The rate no longer limits.
    RateGone {
        /// The last rate tried.
        per_second: f64,
    },
    /// A law's own words.
    Other(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Manual => f.write_str("moved by hand"),
            Self::Overloaded {
                overloaded,
                of,
                threshold,
            } => {
                let (share, threshold) = (percent(overloaded, of), 100.0 * threshold);
                write!(f, "{share:.0} % of {of} overloaded, above {threshold:.0} %")
            }
            Self::Healthy {
                overloaded,
                of,
                threshold,
            } => {
                let (share, threshold) = (percent(overloaded, of), 100.0 * threshold);
                write!(
                    f,
                    "all in use, and {share:.0} % of {of} overloaded, within {threshold:.0} %"
                )
            }
            Self::Failing {
                failed,
                of,
                accepted,
            } => {
                let (share, accepted) = (percent(failed, of), 100.0 * accepted);
                write!(f, "{share:.1} % of {of} failed, where {accepted:.1} % may")
            }
            Self::RetryAfter(wait) => write!(f, "told to stay away for {wait:?}"),
            Self::Starting => f.write_str("starting: one more for each success"),
            Self::Room { queued, target } => write!(
                f,
                "all in use, and about {queued:.0} of our requests stand in a queue where {target:.0} may"
            ),
            Self::Queued { growth, queued } => write!(
                f,
                "latency grew {growth:.1}×: about {queued:.0} of our requests stand in a queue"
            ),
            Self::Probing => f.write_str("probing at half to measure the base"),
            Self::ProbingDeeper { fell } => write!(
                f,
                "half again: latency fell to {fell:.2}× and may fall further"
            ),
            Self::Probed { base } => write!(f, "measured a base latency of {base:.1?}"),
            Self::ProbeFailed => f.write_str("the probe taught nothing"),
            Self::Dead { overloads } => write!(f, "{overloads} overloads and no success"),
            Self::Alive => f.write_str("a success after an outage: starting again"),
            Self::RateFound { per_second } => write!(
                f,
                "refused though few were in flight: the service lets {per_second:.1} per second through"
            ),
            Self::RateTried { per_second } => {
                write!(f, "not throttled: trying {per_second:.1} per second")
            }
            Self::RateGone { per_second } => {
                write!(f, "{per_second:.1} per second no longer limit")
            }
            Self::Other(words) => f.write_str(words),
        }
    }
}

fn percent(part: u32, of: u32) -> f64 {
    100.0 * f64::from(part) / f64::from(of.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overload_reads_as_a_share_of_a_count() {
        let reason = Reason::Overloaded {
            overloaded: 8,
            of: 120,
            threshold: 0.05,
        };
        assert_eq!(reason.to_string(), "7 % of 120 overloaded, above 5 %");
    }

    #[test]
    fn failures_read_as_a_share_beside_the_one_that_is_accepted() {
        let reason = Reason::Failing {
            failed: 13,
            of: 28,
            accepted: 0.222,
        };
        assert_eq!(reason.to_string(), "46.4 % of 28 failed, where 22.2 % may");
    }

    #[test]
    fn every_reason_carries_its_numbers_into_its_words() {
        let queued = Reason::Queued {
            growth: 1.8,
            queued: 14.2,
        };
        assert_eq!(
            queued.to_string(),
            "latency grew 1.8×: about 14 of our requests stand in a queue"
        );
        let base = Duration::from_micros(25_310);
        assert_eq!(
            Reason::Probed { base }.to_string(),
            "measured a base latency of 25.3ms"
        );
        let deeper = Reason::ProbingDeeper { fell: 0.62 };
        assert_eq!(
            deeper.to_string(),
            "half again: latency fell to 0.62× and may fall further"
        );
        let rate = Reason::RateFound { per_second: 195.0 };
        assert!(rate.to_string().ends_with("195.0 per second through"));
    }
}
