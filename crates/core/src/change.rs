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
    /// The service asked us to stay away for this long.
    RetryAfter(Duration),
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
                let share = 100.0 * f64::from(overloaded) / f64::from(of.max(1));
                write!(
                    f,
                    "{share:.0} % of {of} overloaded, above {:.0} %",
                    100.0 * threshold
                )
            }
            Self::RetryAfter(wait) => write!(f, "told to stay away for {wait:?}"),
            Self::Other(words) => f.write_str(words),
        }
    }
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
}
