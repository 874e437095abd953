use std::fmt;
use std::time::Duration;

/// How many requests may start per second: a token bucket.
///
/// The bucket holds at most `burst` tokens and gains one each [`period`](Self::period); a request
/// takes as many as it costs. So in every window of length `W` the requests that start cost at most
/// `burst + rate · W`. Full at the start, unless [`start`](Self::start) says otherwise.
///
/// ```
/// use tidegate_core::{per_hour, per_second};
///
/// let pace = per_second(50.0).burst(10);
/// assert_eq!(pace.rate(), 50.0);
/// assert_eq!(per_hour(1.0).period().as_secs(), 3600);
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Pace {
    /// Nanoseconds per token; finite and above zero.
    period: f64,
    /// At least 1.
    burst: u32,
    start: Start,
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace")
            .field("per_second", &self.rate())
            .field("burst", &self.burst)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

/// How full a bucket is when it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// `burst` tokens. The first window may hold `burst` more than `rate · W`.
    #[default]
    Full,
    /// One token: the first request goes at once, the others at the rate.
    One,
    /// None: the first request waits for its token too.
    Empty,
}

/// A number that is no pace: zero, negative, not a number, or without end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidPace {
    count: f64,
    duration: Duration,
}

impl fmt::Display for InvalidPace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, duration } = self;
        write!(
            f,
            "a pace is a finite number of requests above zero in a time above zero, \
             not {count} in {duration:?}"
        )?;
        if *count == 0.0 {
            f.write_str("; to stop, pause or close")?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidPace {}

/// `count` requests per second, with a burst of 1.
///
/// # Panics
///
/// If `count` is not a finite number above zero.
#[track_caller]
pub fn per_second(count: f64) -> Pace {
    per(count, Duration::from_secs(1))
}

/// `count` requests per minute, with a burst of 1.
///
/// # Panics
///
/// If `count` is not a finite number above zero.
#[track_caller]
pub fn per_minute(count: f64) -> Pace {
    per(count, Duration::from_secs(60))
}

/// `count` requests per hour, with a burst of 1.
///
/// # Panics
///
/// If `count` is not a finite number above zero.
#[track_caller]
pub fn per_hour(count: f64) -> Pace {
    per(count, Duration::from_secs(3600))
}

/// `count` requests per `duration`, with a burst of 1. See [`Pace::try_per`] for numbers that come
/// from configuration.
///
/// # Panics
///
/// If `count` is not a finite number above zero, or `duration` is zero.
#[track_caller]
pub fn per(count: f64, duration: Duration) -> Pace {
    match Pace::try_per(count, duration) {
        Ok(pace) => pace,
        Err(invalid) => panic!("{invalid}"),
    }
}

impl Pace {
    /// `count` requests per `duration`, with a burst of 1.
    ///
    /// # Errors
    ///
    /// If `count` is not a finite number above zero, or `duration` is zero.
    pub fn try_per(count: f64, duration: Duration) -> Result<Self, InvalidPace> {
        let period = duration.as_nanos() as f64 / count;
        let valid = count.is_finite() && count > 0.0 && period.is_finite() && period > 0.0;
        valid
            .then_some(Self {
                period,
                burst: 1,
                start: Start::Full,
            })
            .ok_or(InvalidPace { count, duration })
    }

    /// How many tokens the bucket holds: what may start at once after a quiet time. Default 1.
    ///
    /// # Panics
    ///
    /// If `burst` is 0.
    #[must_use]
    #[track_caller]
    pub fn burst(self, burst: u32) -> Self {
        assert!(burst > 0, "a burst is at least 1");
        Self { burst, ..self }
    }

    /// How full the bucket is when it is made. Default [`Start::Full`].
    #[must_use]
    pub fn start(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// Requests (tokens) per second.
    pub fn rate(&self) -> f64 {
        1e9 / self.period
    }

    /// Time per token, to the nanosecond.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period.round() as u64)
    }

    /// Nanoseconds per token, without rounding.
    pub fn period_nanos(&self) -> f64 {
        self.period
    }

    /// How many tokens the bucket holds.
    pub fn bucket(&self) -> u32 {
        self.burst
    }

    /// How full the bucket is when it is made.
    pub fn start_level(&self) -> Start {
        self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_time_is_in_the_name() {
        assert_eq!(per_second(50.0).period(), Duration::from_millis(20));
        assert_eq!(
            per_minute(500.0).period_nanos().to_bits(),
            120e6_f64.to_bits()
        );
        assert_eq!(per_hour(1.0).period(), Duration::from_secs(3600));
        let month = Duration::from_secs(30 * 86_400);
        assert_eq!(per(1.0, month).period(), month);
    }

    #[test]
    fn nonsense_is_refused_with_the_number_in_the_words() {
        let second = Duration::from_secs(1);
        for count in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = Pace::try_per(count, second).unwrap_err();
            assert!(refused.to_string().contains(&format!("not {count}")));
        }
        assert!(Pace::try_per(1.0, Duration::ZERO).is_err());
        assert!(Pace::try_per(f64::MIN_POSITIVE, Duration::MAX).is_err());
    }
}
