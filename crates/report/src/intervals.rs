use std::time::{Duration, Instant};

use crate::counts::State;
use crate::interval::Interval;
use crate::span::Span;

/// How many there are at most, 1.5 KB each. A run that is longer than all of them makes each twice
/// as long, so that a run of any length has at least half as many.
const MOST: u64 = 400;

/// How long one is at first, in nanoseconds.
const SHORTEST: u64 = 10_000_000;

/// A millisecond.
const MOMENT: u64 = 1_000_000;

/// The time since the first event, in intervals of equal length and bounded number.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    /// When the first event came.
    origin: Option<Instant>,
    /// When the last one came.
    last: Option<Instant>,
    /// When the last interval begins and ends.
    newest: Option<(Instant, Instant)>,
    /// Of each interval, in nanoseconds.
    length: u64,
    /// The first `used` are; the others keep their memory for later.
    kept: Vec<Interval>,
    used: usize,
    /// Of those that begin.
    state: State,
    pause_until: Option<Instant>,
}

impl Intervals {
    pub(crate) fn new(state: State) -> Self {
        Self {
            origin: None,
            last: None,
            newest: None,
            length: SHORTEST,
            kept: Vec::new(),
            used: 0,
            state,
            pause_until: None,
        }
    }

    /// That of this moment, which is there then, and whether it has just begun.
    pub(crate) fn at(&mut self, now: Instant) -> (&mut Interval, bool) {
        let (index, new) = self.index(now);
        (&mut self.kept[index], new)
    }

    /// What holds from `now` on.
    pub(crate) fn set(&mut self, now: Instant, state: State, pause_until: Option<Instant>) {
        self.state = state;
        self.pause_until = pause_until;
        if let Some(last) = self.all().last_mut() {
            last.counts.set(state);
            last.counts.paused |= pause_until > Some(now);
        }
    }

    /// The limit was this one all along, as is known now.
    pub(crate) fn began(&mut self, limit: f64) {
        self.state.limit = limit;
        for interval in self.all() {
            interval.counts.began(limit);
        }
    }

    /// There was a pause, as is known now.
    pub(crate) fn pause(&mut self, from: Instant, until: Instant) {
        let (from, until) = (self.nanos(from), self.nanos(until));
        let mut begin = 0;
        let length = self.length;
        for interval in self.all() {
            interval.counts.paused |= from < begin + length && begin < until;
            begin += length;
        }
    }

    /// When the last event came, since the first one.
    pub(crate) fn elapsed(&self) -> Duration {
        let (origin, last) = (self.origin, self.last);
        let elapsed = origin.and_then(|origin| Some(last?.saturating_duration_since(origin)));
        elapsed.unwrap_or_default()
    }

    /// How long one is.
    pub(crate) fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    /// Since the first event; what came before it came with it.
    pub(crate) fn since(&mut self, now: Instant) -> Duration {
        Duration::from_nanos(self.nanos(now))
    }

    /// As stretches of `width`, which is at least as long as one. An interval is in the stretch that it
    /// begins in.
    pub(crate) fn spans(&self, width: Duration) -> Vec<Span> {
        let width = width.max(self.length()).as_nanos() as u64;
        let end = self.elapsed().as_nanos() as u64;
        let mut spans: Vec<Span> = Vec::new();
        for (index, interval) in (0..).zip(&self.kept[..self.used]) {
            let from = index * self.length / width * width;
            match spans.last_mut() {
                Some(last) if last.from.as_nanos() as u64 == from => last.interval.add(interval),
                _ => spans.push(Span {
                    from: Duration::from_nanos(from),
                    // A run of one moment is not without length.
                    until: Duration::from_nanos((from + width).min(end.max(MOMENT))),
                    interval: interval.clone(),
                }),
            }
        }
        spans
    }

    fn all(&mut self) -> &mut [Interval] {
        &mut self.kept[..self.used]
    }

    fn nanos(&mut self, now: Instant) -> u64 {
        let origin = *self.origin.get_or_insert(now);
        let since = now.saturating_duration_since(origin);
        // Enough for 584 years, and without a division of 128 bits.
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    fn index(&mut self, now: Instant) -> (usize, bool) {
        self.last = self.last.max(Some(now));
        match self.newest {
            Some((begin, end)) if begin <= now && now < end => (self.used - 1, false),
            _ => self.find(now),
        }
    }

    /// Of another than the newest.
    #[cold]
    fn find(&mut self, now: Instant) -> (usize, bool) {
        let since = self.nanos(now);
        while since / self.length >= MOST {
            self.halve();
        }
        let index = (since / self.length) as usize;
        let new = self.used <= index;
        while self.used <= index {
            self.open();
        }
        let begin = self
            .origin
            .map(|origin| origin + self.length() * (self.used as u32 - 1));
        self.newest = begin.map(|begin| (begin, begin + self.length()));
        (index, new)
    }

    fn open(&mut self) {
        if self.used == self.kept.capacity() {
            self.kept.reserve_exact(MOST as usize / 4);
        }
        match self.kept.get_mut(self.used) {
            Some(interval) => interval.clear(self.state),
            None => self.kept.push(Interval::new(self.state)),
        }
        let begins = Duration::from_nanos(self.used as u64 * self.length);
        let begins = self.origin.map(|origin| origin + begins);
        self.kept[self.used].counts.paused = self.pause_until > begins;
        self.used += 1;
    }

    /// Two neighbours become one.
    fn halve(&mut self) {
        for (to, from) in (0..self.used).step_by(2).enumerate() {
            self.kept.swap(to, from);
            if from + 1 < self.used {
                let (before, after) = self.kept.split_at_mut(from + 1);
                before[to].add(&after[0]);
            }
        }
        self.used = self.used.div_ceil(2);
        self.length *= 2;
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::{Outcome, Sample, Setting};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "an origin, to add to")]
    fn origin() -> Instant {
        Instant::now()
    }

    fn intervals() -> Intervals {
        Intervals::new(State::new(&Setting::limit(1.0), None))
    }

    fn succeed(intervals: &mut Intervals, now: Instant) {
        let sample = Sample {
            started: now,
            latency: Some(Duration::from_millis(20)),
            in_flight_at_start: 3,
            in_flight: 3,
            outcome: Outcome::Success,
            retry_after: None,
        };
        intervals.at(now).0.sample(&sample);
    }

    #[test]
    fn a_run_of_any_length_has_no_more_than_400_intervals_and_loses_no_answer() {
        let (mut intervals, origin) = (intervals(), origin());
        for answer in 0..100_000 {
            let now = origin + Duration::from_millis(answer * answer / 1_000);
            succeed(&mut intervals, now);
            assert!(intervals.used as u64 <= MOST);
        }
        assert_eq!(intervals.elapsed(), Duration::from_millis(9_999_800));
        assert_eq!(intervals.length(), Duration::from_millis(10 << 12));
        assert_eq!(intervals.used, 245);
        let run = intervals.spans(Duration::MAX).pop().unwrap();
        assert_eq!(run.counts().successes, 100_000);
        assert_eq!(run.interval.latency(0.5), run.interval.latency(1.0));
    }

    #[test]
    fn intervals_that_were_used_before_begin_empty() {
        let (mut intervals, origin) = (intervals(), origin());
        for answer in 0..=400 {
            succeed(&mut intervals, origin + Duration::from_millis(10 * answer));
        }
        let spans = intervals.spans(Duration::ZERO);
        let counts: Vec<u32> = spans.iter().map(|span| span.counts().successes).collect();
        assert_eq!(counts, [[2; 200].as_slice(), &[1]].concat());
    }

    #[test]
    fn each_interval_begins_once_also_when_others_have_become_one() {
        let (mut intervals, origin) = (intervals(), origin());
        let begun = (0..1_000)
            .map(|millis| origin + Duration::from_millis(5 * millis))
            .filter(|now| intervals.at(*now).1);
        // 400 of 10 ms, then of 20 ms.
        assert_eq!(begun.count(), 400 + 50);
    }

    #[test]
    fn an_answer_that_comes_late_counts_where_it_belongs() {
        let (mut intervals, origin) = (intervals(), origin());
        for millis in [0, 25, 5] {
            succeed(&mut intervals, origin + Duration::from_millis(millis));
        }
        let spans = intervals.spans(Duration::ZERO);
        let counts = [0, 1, 2].map(|index| spans[index].counts().successes);
        assert_eq!(counts, [2, 0, 1]);
        assert_eq!(intervals.elapsed(), Duration::from_millis(25));
    }
}
