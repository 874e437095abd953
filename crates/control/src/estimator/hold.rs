/// Seconds that a limit is remembered.
const MEMORY: f64 = 5.0;

/// In parts of a limit that just worked: how low a refusal must be to be about something else.
const WELL_BELOW: f64 = 0.8;

/// … and how near, under a ceiling.
const NEAR: f64 = 0.9;

/// What is known of limits that did and did not work a moment ago.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    /// `C`: the limit before the last cut.
    c: f64,
    held_until: f64,
    /// The greatest limit that was in use for a round without overload.
    worked: f64,
    worked_until: f64,
}

impl Hold {
    /// A limit of `c` was too much.
    pub(crate) fn cut(&mut self, now: f64, latency: f64, c: f64) {
        self.c = c;
        self.held_until = now + latency.max(MEMORY);
    }

    /// As [`cut`](Self::cut), while nobody sends for `pause` seconds.
    pub(crate) fn cut_and_pause(&mut self, now: f64, latency: f64, c: f64, pause: f64) {
        self.cut(now, latency, c);
        self.held_until += pause;
    }

    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }

    /// A round at `n`, all in use, was not overloaded.
    pub(crate) fn worked(&mut self, now: f64, latency: f64, n: f64) {
        if n >= self.worked || now >= self.worked_until {
            self.worked = n;
            self.worked_until = now + latency.max(MEMORY);
        }
    }

    /// The most that may be tried.
    pub(crate) fn most(&self, now: f64) -> f64 {
        if now < self.held_until {
            self.c - 1.0
        } else {
            f64::INFINITY
        }
    }

    /// Whether `n` stays below a known ceiling.
    pub(crate) fn is_held(&self, now: f64, n: f64) -> bool {
        now < self.held_until && n <= self.c - 1.0 + 1e-9
    }

    /// Whether an overload at `n` cannot be about the number in flight, since as many worked.
    pub(crate) fn just_worked(&self, now: f64, n: f64) -> bool {
        let worked = if now < self.worked_until {
            self.worked
        } else {
            0.0
        };
        n <= WELL_BELOW * worked || (self.is_held(now, n) && NEAR * n <= worked)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_forgotten_after_five_seconds() {
        let mut hold = Hold::default();
        hold.cut(10.0, 0.1, 40.0);
        assert_eq!(hold.most(14.9), 39.0);
        assert_eq!(hold.most(15.0), f64::INFINITY);
    }

    #[test]
    fn an_overload_below_what_just_worked_is_about_something_else() {
        let mut hold = Hold::default();
        assert!(!hold.just_worked(0.0, 10.0));
        hold.worked(0.0, 0.1, 20.0);
        assert!(hold.just_worked(1.0, 15.0));
        assert!(!hold.just_worked(1.0, 19.0));
        hold.cut(1.0, 0.1, 20.0);
        assert!(hold.just_worked(2.0, 19.0));
        assert!(!hold.just_worked(9.0, 15.0));
    }
}
