use super::Delivered;
use super::crowding::Crowding;

/// Requests per second: never less.
const LEAST: f64 = 0.01;

/// What a cut leaves of the rate that was delivered: a margin to drain what the bucket owes.
const KEEP: f64 = 0.975;

/// A cut leaves at least this part of the rate.
const KEEP_AT_LEAST: f64 = 0.5;

/// Tokens that the pacer holds.
pub(crate) const BURST: u32 = 2;

/// Seconds in which growth makes up for `√r_c`: the cubic of RFC 9438 §4.2, flat near the rate that
/// was just refused.
const PLATEAU: f64 = 7.0;

/// Share of overloads in a window above which the rate is cut.
const OVERLOADED: f64 = 0.04;

/// Answers in a window, and share of overloads that ends it at once.
const WINDOW: u32 = 40;
const FLOOD: f64 = 0.3;

/// Seconds between two cuts, at least.
const REST: f64 = 0.4;

/// Seconds of slack after which the pace is no longer needed.
const SLACK: f64 = 60.0;

/// One gap between two sends counts as so many seconds of slack at most: silence proves nothing.
const GAP: f64 = 1.0;

/// So many refusals in a row are no chance under a pace that is nearly right.
const IN_A_ROW: u32 = 10;

/// What counts as nearly all of a quota.
const NEARLY: f64 = 0.95;

/// Seconds after the entry before refusals count as evidence: what was sent before it comes back.
const SETTLING: f64 = 1.0;

/// Rate mode: a pacer at `r` that grows by a cubic and is cut to what the service delivered.
///
/// ```text
/// r   = r_c + √r_c ((now − t_c) / 7)³        grows
/// r_c = 0.975 · delivered                    cut: at least r / 2, at most 0.975 r
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    /// Requests per second now.
    r: f64,
    /// … after the last cut.
    r_c: f64,
    /// When that was, and later by all the time in which the pacer held nobody back.
    t_c: f64,
    /// Whether the service says 429; then nothing else is about the rate.
    throttled: bool,
    entered: f64,
    last_cut: f64,
    window: Window,
    pacer: Pacer,
    crowding: Crowding,
    /// The limit before the outages that look like a quota; 0 if it is not known.
    pub(crate) before: f64,
    /// What was let through between two of them: under the pace no quota refuses sooner.
    quota: f64,
    /// Let through since the last of them.
    served: f64,
    in_a_row: u32,
}

/// What the answers to requests sent since `since` said.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: f64,
    m: u32,
    o: u32,
}

/// The door's token bucket, kept in parallel to know when it idles.
#[derive(Clone, Copy, Debug)]
struct Pacer {
    /// Per second: the rate that the door was last told.
    told: f64,
    tokens: f64,
    filled: f64,
    /// Seconds since it last held somebody back.
    slack: f64,
}

/// An answer as the rate sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) now: f64,
    pub(crate) started: f64,
    pub(crate) in_flight_at_start: f64,
    pub(crate) overload: bool,
    pub(crate) throttled: bool,
}

/// What a window led to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateCut {
    pub(crate) overloaded: u32,
    pub(crate) of: u32,
    pub(crate) threshold: f64,
}

impl Rate {
    /// At what the service delivered. `throttled`: by 429.
    pub(crate) fn enter(now: f64, delivered: f64, throttled: bool) -> Self {
        let r = (KEEP * delivered).max(LEAST);
        Self {
            r,
            r_c: r,
            t_c: now,
            throttled,
            entered: now,
            last_cut: now,
            window: Window::since(now),
            pacer: Pacer {
                told: r,
                tokens: f64::from(BURST),
                filled: now,
                slack: 0.0,
            },
            crowding: Crowding::default(),
            before: 0.0,
            quota: f64::INFINITY,
            served: 0.0,
            in_a_row: 0,
        }
    }

    /// The service let `served` through between two outages; before them the limit was `before`.
    pub(crate) fn suspect(&mut self, served: f64, before: Option<f64>) {
        self.quota = served;
        self.before = before.unwrap_or(0.0);
    }

    /// Whether all is refused though less was let through than a quota would have. What says 429 is
    /// believed.
    pub(crate) fn is_refuted(&self) -> bool {
        !self.throttled && self.in_a_row >= IN_A_ROW && self.served < NEARLY * self.quota
    }

    pub(crate) fn r(&self) -> f64 {
        self.r
    }

    /// The rate, for the door.
    pub(crate) fn tell(&mut self) -> f64 {
        self.pacer.told = self.r;
        self.r
    }

    /// How many the refused met in flight, if it is their number that is limited.
    pub(crate) fn concurrency(&self) -> Option<f64> {
        self.crowding.limit()
    }

    /// Whether the pace has not held anybody back for long.
    pub(crate) fn is_slack(&self) -> bool {
        self.pacer.slack >= SLACK
    }

    pub(crate) fn on_start(&mut self, now: f64) {
        let idle = self.pacer.take(now);
        self.t_c = (self.t_c + idle).min(now);
    }

    /// The cut that an answer led to; otherwise the rate grows.
    pub(crate) fn on_answer(
        &mut self,
        answer: Answer,
        latency: f64,
        delivered: &mut Delivered,
    ) -> Option<RateCut> {
        let Answer {
            now,
            started,
            in_flight_at_start,
            overload,
            throttled,
        } = answer;
        self.count(overload);
        let refused = overload && (throttled || !self.throttled);
        if refused {
            self.pacer.slack = 0.0;
        }
        if started >= self.entered + SETTLING {
            self.crowding
                .add(now, latency, in_flight_at_start, refused && throttled);
        }
        self.window.add(started, refused);
        if let Some(cut) = self.close_window(now, latency, delivered) {
            return Some(cut);
        }
        if !overload {
            self.grow(now);
        }
        None
    }

    fn count(&mut self, overload: bool) {
        if overload {
            self.in_a_row = self.in_a_row.saturating_add(1);
            return;
        }
        if self.in_a_row >= IN_A_ROW {
            self.served = 0.0;
        }
        self.in_a_row = 0;
        self.served += 1.0;
    }

    /// A pause began, and `found` is what the service let through until then.
    pub(crate) fn on_pause(&mut self, now: f64, found: f64) {
        self.window = Window::since(now);
        self.cut(now, found);
    }

    fn close_window(
        &mut self,
        now: f64,
        latency: f64,
        delivered: &mut Delivered,
    ) -> Option<RateCut> {
        let Window { since, m, o } = self.window;
        let age = now - since;
        let share = f64::from(o) / f64::from(m.max(1));
        if !((m >= WINDOW && age > 2.0 * latency) || (o >= 5 && share > FLOOD)) {
            return None;
        }
        self.window = Window::since(now);
        let rests = now - self.last_cut < (4.0 * latency).max(REST);
        if share <= OVERLOADED || o < 2 || rests {
            return None;
        }
        let span = (2.0 * latency).max(20.0 / self.r).max(age).max(1.0);
        let span = span.min((now - self.entered).max(0.1));
        self.cut(now, delivered.rate(now, span));
        Some(RateCut {
            overloaded: o,
            of: m,
            threshold: OVERLOADED,
        })
    }

    fn grow(&mut self, now: f64) {
        let age = (now - self.t_c) / PLATEAU;
        self.r = self.r_c + self.r_c.sqrt() * age * age * age;
    }

    fn cut(&mut self, now: f64, found: f64) {
        let r = (KEEP * found).clamp(KEEP_AT_LEAST * self.r, KEEP * self.r);
        self.r = r.max(LEAST);
        self.r_c = self.r;
        self.t_c = now;
        self.last_cut = now;
    }
}

impl Window {
    fn since(since: f64) -> Self {
        Self {
            since,
            ..Self::default()
        }
    }

    fn add(&mut self, started: f64, refused: bool) {
        if started >= self.since {
            self.m = self.m.saturating_add(1);
            self.o += u32::from(refused);
        }
    }
}

impl Pacer {
    /// A request starts; the seconds since the one before, if it could have started earlier.
    fn take(&mut self, now: f64) -> f64 {
        let full = f64::from(BURST);
        let gap = now - self.filled;
        let tokens = self.tokens + gap * self.told;
        let idle = if tokens >= full { gap } else { 0.0 };
        self.slack = if idle > 0.0 {
            self.slack + idle.min(GAP)
        } else {
            0.0
        };
        self.tokens = tokens.min(full) - 1.0;
        self.filled = now;
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends at the pace for `seconds` to a service that lets `limit` a second through.
    fn paced(
        rate: &mut Rate,
        delivered: &mut Delivered,
        from: f64,
        seconds: f64,
        limit: f64,
    ) -> f64 {
        let (mut now, mut tokens) = (from, 10.0);
        // The pacer's burst is gone.
        (0..BURST).for_each(|_| rate.on_start(from));
        while now < from + seconds {
            let gap = 1.0 / rate.tell();
            now += gap;
            tokens = f64::min(tokens + gap * limit, 10.0);
            let overload = tokens < 1.0;
            if !overload {
                tokens -= 1.0;
                delivered.record(now);
            }
            rate.on_start(now);
            let answer = Answer {
                now,
                started: now,
                in_flight_at_start: 1.0,
                overload,
                throttled: overload,
            };
            rate.on_answer(answer, 0.01, delivered);
        }
        now
    }

    #[test]
    fn the_rate_settles_at_what_the_service_lets_through() {
        let (mut rate, mut delivered) = (Rate::enter(0.0, 300.0, true), Delivered::default());
        let now = paced(&mut rate, &mut delivered, 0.0, 10.0, 100.0);
        assert!((80.0..=105.0).contains(&rate.r), "{}", rate.r);
        paced(&mut rate, &mut delivered, now, 30.0, 200.0);
        assert!((160.0..=210.0).contains(&rate.r), "{}", rate.r);
    }

    #[test]
    fn a_quota_that_refuses_before_it_can_be_used_up_is_none() {
        let suspect = |served: u32, refused: u32| {
            let mut rate = Rate::enter(0.0, 100.0, false);
            rate.suspect(200.0, Some(40.0));
            (0..served).for_each(|_| rate.count(false));
            (0..refused).for_each(|_| rate.count(true));
            rate
        };
        assert!(suspect(180, 10).is_refuted());
        assert!(!suspect(180, 9).is_refuted());
        assert!(!suspect(190, 10).is_refuted());
        let mut rate = suspect(190, 10);
        (0..180).for_each(|_| rate.count(false));
        (0..10).for_each(|_| rate.count(true));
        assert!(rate.is_refuted());
    }

    #[test]
    fn an_idle_pacer_does_not_grow() {
        let (mut rate, mut delivered) = (Rate::enter(0.0, 100.0, true), Delivered::default());
        for second in 1..1_000 {
            let now = f64::from(second);
            rate.on_start(now);
            let answer = Answer {
                now,
                started: now,
                in_flight_at_start: 1.0,
                overload: false,
                throttled: false,
            };
            rate.on_answer(answer, 0.01, &mut delivered);
            rate.tell();
        }
        assert!((rate.r - 97.5).abs() < 0.1, "{}", rate.r);
        assert!(rate.is_slack());
    }

    #[test]
    fn one_long_silence_is_no_slack() {
        let mut rate = Rate::enter(0.0, 100.0, true);
        rate.on_start(1_000.0);
        assert!(!rate.is_slack());
    }
}
