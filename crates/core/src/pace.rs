use std::fmt;
use std::time::Duration;

/// How many requests may start per second: a token bucket, or a [`strict`] window.
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
///
/// With the feature `serde` it is read as `{ per_second = 50.0, burst = 10, start = "full" }`, or
/// `per_minute`, `per_hour`, or `{ strict = 100, window_seconds = 60.0 }`; other fields, and numbers
/// that are no pace, are refused.
#[derive(Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(
        try_from = "crate::pace_text::PaceText",
        into = "crate::pace_text::PaceText"
    )
)]
pub struct Pace {
    /// Nanoseconds per token; finite and above zero.
    period: f64,
    /// At least 1; of a window, how many it holds.
    burst: u32,
    start: Start,
    /// Zero for a bucket.
    window: Duration,
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace")
            .field("per_second", &self.rate())
            .field("burst", &self.burst)
            .field("start", &self.start)
            .field("window", &self.window())
            .finish_non_exhaustive()
    }
}

/// How full a bucket is when it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "snake_case")
)]
pub enum Start {
    /// `burst` tokens. The first window may hold `burst` more than `rate · W`. A strict window is
    /// empty: all that it holds may go at once.
    #[default]
    Full,
    /// One token: the first request goes at once, the others at the rate. A strict window has room
    /// for one.
    One,
    /// None: the first request waits for its token too. A strict window counts as having been filled
    /// just now.
    Empty,
}

/// A number that is no pace: zero, negative, not a number, or without end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidPace {
    count: f64,
    duration: Duration,
}

/// Never more than `count` in any window of that length, wherever it begins, its end not included:
/// what a server that counts in windows, fixed or moving, can see at most. Compare
/// `per(count, window).burst(count)`, which lets `2 · count` into its first window.
///
/// After `count` at once the next ones go when the first of them are a whole `window` ago. It keeps
/// the times of what it has let in: up to 1,024 of them, above that with a grain of 1/1024 of the
/// window, in 24 KiB; so at least 99.9 % of the rate can be used, less what timers lose, which may fire
/// 1 ms late.
///
/// # Panics
///
/// If `count` is 0, or `window` is zero or above 290 years.
#[track_caller]
pub fn strict(count: u32, window: Duration) -> Pace {
    match Pace::try_strict(count, window) {
        Ok(pace) => pace,
        Err(invalid) => panic!("{invalid}"),
    }
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
                window: Duration::ZERO,
            })
            .ok_or(InvalidPace { count, duration })
    }

    /// The same as [`strict`], of numbers that come from configuration.
    ///
    /// # Errors
    ///
    /// If `count` is 0, or `window` is zero or above 290 years.
    pub fn try_strict(count: u32, window: Duration) -> Result<Self, InvalidPace> {
        let invalid = InvalidPace {
            count: f64::from(count),
            duration: window,
        };
        if i64::try_from(window.as_nanos()).is_err() {
            return Err(invalid);
        }
        Self::try_per(f64::from(count), window).map(|pace| Self {
            burst: count,
            window,
            ..pace
        })
    }

    /// How many tokens the bucket holds: what may start at once after a quiet time. Default 1.
    ///
    /// # Panics
    ///
    /// If `burst` is 0, or if this is a [`strict`] window, which has no other burst than what it
    /// holds.
    #[must_use]
    #[track_caller]
    pub fn burst(self, burst: u32) -> Self {
        assert!(burst > 0, "a burst is at least 1");
        assert!(self.window().is_none(), "a strict window has no burst");
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

    /// How many tokens the bucket, or how many requests the strict window holds.
    pub fn bucket(&self) -> u32 {
        self.burst
    }

    /// The length of a [`strict`] window; `None` for a bucket.
    pub fn window(&self) -> Option<Duration> {
        (self.window > Duration::ZERO).then_some(self.window)
    }

    /// The slower of the two with the smaller burst, which keeps within both. A [`strict`] window holds
    /// whatever the other is, since no bucket keeps within it.
    #[must_use]
    pub fn slower_of(self, other: Self) -> Self {
        if self.window().is_some() || other.window().is_some() {
            return if self.window().is_some() { self } else { other };
        }
        let slower = if other.rate() < self.rate() {
            other
        } else {
            self
        };
        slower.burst(self.burst.min(other.burst))
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
    fn the_slower_of_two_has_the_smaller_burst_and_a_strict_window_holds() {
        let own = per_second(100.0).burst(2);
        let asked = per_second(50.0).burst(5);
        assert_eq!(own.slower_of(asked), asked.burst(2));
        assert_eq!(asked.slower_of(own), asked.burst(2));
        let window = strict(3, Duration::from_secs(1));
        assert_eq!(own.slower_of(window), window);
        assert_eq!(window.slower_of(own), window);
    }

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
        for (count, window) in [(0, second), (1, Duration::ZERO), (1, Duration::MAX)] {
            assert!(Pace::try_strict(count, window).is_err());
        }
    }
}
