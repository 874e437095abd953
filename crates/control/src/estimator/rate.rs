use super::Delivered;

/// Requests per second: never less.
const MIN: f64 = 0.01;
/// What a cut leaves of the rate that was delivered: a margin to drain what the bucket owes.
const KEEP: f64 = 0.975;
/// Tokens that the pacer holds.
pub(crate) const BURST: u32 = 2;
/// Seconds after which growth has made up for `√r_c`: the cubic of RFC 9438 §4.2, flat near the
/// rate that was just refused.
const PLATEAU: f64 = 7.0;
/// Share of overloads in a window above which the rate is cut.
const OVERLOADED: f64 = 0.04;

/// Rate mode: a pacer at `r` that grows by a cubic and is cut to what the service delivered.
///
/// ```text
/// r = r_c + √r_c ((now − t_c) / 7)³
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    /// Requests per second now.
    pub(crate) r: f64,
    /// … at the last cut.
    r_c: f64,
    /// When that was; moved on by every second that the pacer idled, seconds.
    t_c: f64,
    last_cut: f64,
    window: Window,
    tokens: f64,
    filled: f64,
    /// When the service last said 429 or the pacer last held somebody back.
    pub(crate) bound: f64,
    pub(crate) in_flight: InFlight,
    pub(crate) entered: f64,
}

/// In flight at the start of those refused and of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    seen: f64,
    mean: f64,
    variance: f64,
    refused: f64,
    above: f64,
    refused_sum: f64,
    last: f64,
}

impl InFlight {
    pub(crate) fn add(&mut self, now: f64, latency: f64, sample: &tidegate_core::Sample) {
        use super::knob;
        let i = sample.in_flight_at_start as f64;
        let refused = sample.outcome == tidegate_core::Outcome::Overload(tidegate_core::Cause::Throttled);
        if refused && now - self.last > latency && self.seen > 40.0 {
            self.last = now;
            let z = (i - self.mean) / self.variance.sqrt().max(0.5);
            self.refused += 1.0;
            self.above += z.clamp(-2.0, 2.0);
            self.refused_sum += i;
            if self.refused > knob(16, 32.0) {
                for x in [&mut self.refused, &mut self.above, &mut self.refused_sum] {
                    *x /= 2.0;
                }
            }
        }
        self.seen += 1.0;
        let w = (1.0 / self.seen).max(1.0 / knob(17, 100.0));
        let off = i - self.mean;
        self.mean += w * off;
        self.variance += w * (off * off - self.variance);
    }

    pub(crate) fn concurrency(&self) -> Option<f64> {
        use super::knob;
        if std::env::var("DBG").is_ok() && self.refused > 0.0 { eprintln!("refused {} mean {:.2} var {:.2} z {:.2}", self.refused, self.mean, self.variance, self.above / self.refused); }
        (self.refused >= knob(8, 6.0) && self.above > knob(10, 1.0) * self.refused && self.mean > 3.0).then(|| self.refused_sum / self.refused)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: f64,
    m: u32,
    o: u32,
}

/// What a window led to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateCut {
    pub(crate) overloaded: u32,
    pub(crate) of: u32,
    pub(crate) threshold: f64,
}

impl Rate {
    pub(crate) fn enter(now: f64, r: f64) -> Self {
        let r = (KEEP * r).max(MIN);
        Self {
            r,
            r_c: r,
            t_c: now,
            last_cut: now,
            window: Window {
                since: now,
                ..Window::default()
            },
            tokens: f64::from(BURST),
            filled: now,
            bound: now,
            in_flight: InFlight::default(),
            entered: now,
        }
    }

    pub(crate) fn on_start(&mut self, now: f64) {
        let full = f64::from(BURST);
        let tokens = self.tokens + (now - self.filled) * self.r;
        let idle = (tokens - full).max(0.0) / self.r;
        self.t_c = (self.t_c + idle).min(now);
        if tokens < full {
            self.bound = now;
        }
        self.tokens = tokens.min(full) - 1.0;
        self.filled = now;
    }

    /// An answer to a request sent at `started`; the cut it led to.
    pub(crate) fn on_sample(
        &mut self,
        now: f64,
        started: f64,
        overload: bool,
        latency: f64,
        delivered: &mut Delivered,
    ) -> Option<RateCut> {
        if overload {
            self.bound = now;
        }
        if started >= self.window.since {
            self.window.m += 1;
            self.window.o += u32::from(overload);
        }
        let Window { since, m, o } = self.window;
        let age = now - since;
        let share = f64::from(o) / f64::from(m.max(1));
        let closed = (m >= 40 && age > 2.0 * latency) || (o >= 5 && share > 0.3);
        if !closed {
            return None;
        }
        self.window = Window {
            since: now,
            ..Window::default()
        };
        let rests = now - self.last_cut < (4.0 * latency).max(super::knob(11, 0.4));
        if share <= OVERLOADED || o < 2 || rests {
            return None;
        }
        let span = (2.0 * latency).max(20.0 / self.r).max(age).max(1.0).min((now - self.entered).max(0.1));
        let found = KEEP * delivered.rate(now, span);
        self.cut(now, found.clamp(self.r / 2.0, KEEP * self.r));
        Some(RateCut {
            overloaded: o,
            of: m,
            threshold: OVERLOADED,
        })
    }

    /// A pause began.
    pub(crate) fn on_pause(&mut self, now: f64, found: f64) {
        let found = KEEP * found;
        self.window = Window { since: now, ..Window::default() };
        self.cut(now, found.clamp(self.r / 2.0, KEEP * self.r));
    }

    pub(crate) fn grow(&mut self, now: f64) {
        let age = (now - self.t_c) / PLATEAU;
        self.r = self.r_c + super::knob(12, 1.0) * self.r_c.powf(super::knob(13, 0.5)) * age * age * age;
    }

    fn cut(&mut self, now: f64, r: f64) {
        let r = r.max(MIN);
        self.r = r;
        self.r_c = r;
        self.t_c = now;
        self.last_cut = now;
    }
}
