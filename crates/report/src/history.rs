use std::time::{Duration, Instant};

use tidegate_core::{Change, Reason, Sample, Setting, Snapshot};

use crate::counts::{Counts, State};
use crate::interval::Interval;
use crate::moves::{Moves, whole};

/// How many intervals there are at most, 1.5 KB each. A run that is longer than all of them makes
/// each twice as long, so that a run of any length has at least half as many.
const MOST: u64 = 400;

/// How long an interval is at first, in nanoseconds.
const SHORTEST: u64 = 10_000_000;

/// A millisecond.
const MOMENT: u64 = 1_000_000;

/// What happened, in bounded memory: intervals of equal length, and changes with their reasons.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// When the first event came.
    origin: Option<Instant>,
    /// When the last one came, in nanoseconds since the origin.
    last: u64,
    /// Of each interval, in nanoseconds.
    length: u64,
    /// The first `used` are; the others keep their memory for later.
    intervals: Vec<Interval>,
    used: usize,
    moves: Moves,
    first_limit: f64,
    /// In force at the end.
    setting: Setting,
    /// Whether a law has spoken.
    law: bool,
    shadow: bool,
}

/// Intervals as one, for a view.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    pub(crate) interval: Interval,
}

impl Span {
    pub(crate) fn length(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.interval.counts
    }
}

impl Default for History {
    fn default() -> Self {
        Self {
            origin: None,
            last: 0,
            length: SHORTEST,
            intervals: Vec::new(),
            used: 0,
            moves: Moves::default(),
            first_limit: 1.0,
            setting: Setting::limit(1.0),
            law: false,
            shadow: false,
        }
    }
}

impl History {
    /// How it stands before the first event.
    pub(crate) fn begin(&mut self, snapshot: &Snapshot) {
        self.setting = seen(snapshot);
        self.first_limit = self.setting.limit;
        self.shadow = snapshot.shadow;
    }

    /// Answers whether a new interval has begun.
    pub(crate) fn sample(&mut self, now: Instant, sample: &Sample) -> bool {
        self.law = true;
        let used = self.used;
        let index = self.index(now);
        self.intervals[index].sample(sample);
        self.used > used
    }

    pub(crate) fn change(&mut self, now: Instant, change: &Change) {
        self.law = true;
        if self.moves.is_empty() {
            self.began(change.from.limit);
        }
        let pace = if change.from.pace == change.to.pace {
            // A pace that is there is the user's.
            self.setting.pace
        } else {
            change.to.pace
        };
        self.push(now, *change);
        self.set(now, Setting { pace, ..change.to });
    }

    /// What was seen at a door. Where no law moves it, what differs was moved by hand.
    pub(crate) fn look(&mut self, now: Instant, snapshot: &Snapshot) {
        let index = self.index(now);
        self.intervals[index].snapshot(snapshot);
        self.shadow = snapshot.shadow;
        let from = self.setting;
        let mut to = seen(snapshot);
        to.pause_until = to.pause_until.max(from.pause_until);
        let follows = self.law && !snapshot.frozen || snapshot.shadow;
        if follows || whole(from.limit) == whole(to.limit) {
            to.limit = from.limit;
        }
        let by_hand = !self.law || whole(from.limit) != whole(to.limit);
        if by_hand && from != to {
            let reason = Reason::Manual;
            self.push(now, Change { from, to, reason });
        }
        self.set(now, to);
    }

    /// When the last event came, since the first one.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.last)
    }

    /// How long an interval is.
    pub(crate) fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    pub(crate) fn first_limit(&self) -> f64 {
        self.first_limit
    }

    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Whether the law decides without being followed, when somebody last looked.
    pub(crate) fn is_shadow(&self) -> bool {
        self.shadow
    }

    /// All intervals as stretches of `width`, which is at least as long as one. An interval is in the
    /// stretch that it begins in.
    pub(crate) fn spans(&self, width: Duration) -> Vec<Span> {
        let width = width.max(self.length()).as_nanos() as u64;
        let mut spans: Vec<Span> = Vec::new();
        for (index, interval) in (0..).zip(&self.intervals[..self.used]) {
            let from = index * self.length / width * width;
            match spans.last_mut() {
                Some(last) if last.from.as_nanos() as u64 == from => last.interval.add(interval),
                _ => spans.push(Span {
                    from: Duration::from_nanos(from),
                    // A run of one moment is not without length.
                    until: Duration::from_nanos((from + width).min(self.last.max(MOMENT))),
                    interval: interval.clone(),
                }),
            }
        }
        spans
    }

    /// Before the first change the limit was this one, to a fraction.
    fn began(&mut self, limit: f64) {
        self.first_limit = limit;
        self.setting.limit = limit;
        let intervals = self.intervals[..self.used].iter_mut();
        intervals.for_each(|interval| interval.counts.began(limit));
    }

    /// The setting from now on.
    fn set(&mut self, now: Instant, setting: Setting) {
        self.setting = setting;
        if let Some(last) = self.intervals[..self.used].last_mut() {
            last.counts.set(State::from(&setting));
            last.counts.paused |= setting.pause_until > Some(now);
        }
    }

    fn push(&mut self, now: Instant, change: Change) {
        let at = Duration::from_nanos(self.since(now));
        self.moves.push(at, change);
        let index = self.index(now);
        let changes = &mut self.intervals[index].counts.changes;
        *changes = changes.saturating_add(1);
    }

    /// Nanoseconds since the origin; what came before the first event came with it.
    fn since(&mut self, now: Instant) -> u64 {
        let origin = *self.origin.get_or_insert(now);
        let since = now.saturating_duration_since(origin);
        // Enough for 584 years, and without a division of 128 bits.
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    /// Of the interval of that moment, which is there then.
    fn index(&mut self, now: Instant) -> usize {
        let since = self.since(now);
        self.last = self.last.max(since);
        // Mostly it is the last one.
        let begin = (self.used as u64).wrapping_sub(1).wrapping_mul(self.length);
        if self.used > 0 && since.wrapping_sub(begin) < self.length {
            return self.used - 1;
        }
        while since / self.length >= MOST {
            self.halve();
        }
        let index = (since / self.length) as usize;
        while self.used <= index {
            self.open();
        }
        index
    }

    fn open(&mut self) {
        let state = State::from(&self.setting);
        match self.intervals.get_mut(self.used) {
            Some(interval) => interval.clear(state),
            None => self.intervals.push(Interval::new(state)),
        }
        let begins = Duration::from_nanos(self.used as u64 * self.length);
        let begins = self.origin.map(|origin| origin + begins);
        self.intervals[self.used].counts.paused = self.setting.pause_until > begins;
        self.used += 1;
    }

    /// Two neighbours become one.
    fn halve(&mut self) {
        for (to, from) in (0..self.used).step_by(2).enumerate() {
            self.intervals.swap(to, from);
            if from + 1 < self.used {
                let (before, after) = self.intervals.split_at_mut(from + 1);
                before[to].add(&after[0]);
            }
        }
        self.used = self.used.div_ceil(2);
        self.length *= 2;
    }
}

fn seen(snapshot: &Snapshot) -> Setting {
    Setting {
        limit: snapshot.limit as f64,
        pace: snapshot.pace,
        pause_until: snapshot.pause_until,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::{Outcome, per_second};

    #[expect(clippy::disallowed_methods, reason = "an origin, to add to")]
    fn origin() -> Instant {
        Instant::now()
    }

    fn success(started: Instant) -> Sample {
        Sample {
            started,
            latency: Some(Duration::from_millis(20)),
            in_flight_at_start: 3,
            in_flight: 3,
            outcome: Outcome::Success,
            retry_after: None,
        }
    }

    fn change(from: f64, to: f64) -> Change {
        Change {
            from: Setting::limit(from),
            to: Setting::limit(to),
            reason: Reason::Starting,
        }
    }

    #[test]
    fn a_run_of_any_length_has_no_more_than_400_intervals_and_loses_no_answer() {
        let (mut history, origin) = (History::default(), origin());
        for answer in 0..100_000 {
            let now = origin + Duration::from_millis(answer * answer / 1_000);
            history.sample(now, &success(now));
            assert!(history.used as u64 <= MOST);
        }
        assert_eq!(history.elapsed(), Duration::from_millis(9_999_800));
        assert_eq!(history.length(), Duration::from_millis(10 << 12));
        assert_eq!(history.used, 245);
        let run = history.spans(Duration::MAX).pop().unwrap();
        assert_eq!(run.counts().successes, 100_000);
        assert_eq!(run.interval.latency(0.5), run.interval.latency(1.0));
    }

    #[test]
    fn intervals_that_were_used_before_begin_empty() {
        let (mut history, origin) = (History::default(), origin());
        for answer in 0..=400 {
            let now = origin + Duration::from_millis(10 * answer);
            history.sample(now, &success(now));
        }
        let counts: Vec<u32> = history
            .spans(Duration::ZERO)
            .iter()
            .map(|span| span.counts().successes)
            .collect();
        assert_eq!(counts, [[2; 200].as_slice(), &[1]].concat());
    }

    #[test]
    fn an_answer_that_comes_late_counts_where_it_belongs() {
        let (mut history, origin) = (History::default(), origin());
        for millis in [0, 25, 5] {
            let now = origin + Duration::from_millis(millis);
            history.sample(now, &success(now));
        }
        let spans = history.spans(Duration::ZERO);
        let counts = [0, 1, 2].map(|index| spans[index].counts().successes);
        assert_eq!(counts, [2, 0, 1]);
        assert_eq!(history.elapsed(), Duration::from_millis(25));
    }

    #[test]
    fn a_limit_holds_until_it_moves_and_was_there_before_the_first_move() {
        let (mut history, origin) = (History::default(), origin());
        history.sample(origin, &success(origin));
        history.change(origin + Duration::from_millis(35), &change(8.5, 4.25));
        let spans = history.spans(Duration::ZERO);
        let states = [0, 1, 2, 3].map(|index| spans[index].counts().state);
        let limits = [8.5, 8.5, 8.5, 4.25];
        assert_eq!(states, limits.map(|limit| State { limit, pace: None }));
        let last = spans[3].counts();
        assert_eq!((last.least_limit, last.greatest_limit), (4.25, 8.5));
        assert_eq!(last.changes, 1);
    }

    #[test]
    fn a_pause_is_seen_in_each_interval_that_it_reaches() {
        let (mut history, origin) = (History::default(), origin());
        let mut pause = change(8.0, 8.0);
        pause.to.pause_until = Some(origin + Duration::from_millis(25));
        history.change(origin, &pause);
        let now = origin + Duration::from_millis(45);
        history.sample(now, &success(now));
        let paused: Vec<bool> = history
            .spans(Duration::ZERO)
            .iter()
            .map(|span| span.counts().paused)
            .collect();
        assert_eq!(paused, [true, true, true, false, false]);
    }

    #[test]
    fn where_no_law_speaks_what_is_seen_moved_was_moved_by_hand() {
        let (mut history, origin) = (History::default(), origin());
        let mut snapshot = Snapshot::new(10);
        history.begin(&snapshot);
        history.look(origin, &snapshot);
        snapshot.limit = 4;
        snapshot.waiting = 7;
        snapshot.pace = Some(per_second(5.0));
        history.look(origin + Duration::from_millis(10), &snapshot);
        let [moved] = history.moves().iter().collect::<Vec<_>>()[..] else {
            panic!("one move");
        };
        assert_eq!(moved.change.reason, Reason::Manual);
        assert_eq!(moved.change.from, Setting::limit(10.0));
        assert_eq!(moved.change.to, seen(&snapshot));
        let spans = history.spans(Duration::ZERO);
        assert_eq!(spans[0].counts().waiting, Some(0));
        assert_eq!(spans[1].counts().waiting, Some(7));
        assert_eq!(spans[1].counts().state, State::from(&seen(&snapshot)));
    }

    #[test]
    fn what_a_door_shows_does_not_round_what_a_law_says_unless_it_is_frozen() {
        let (mut history, origin) = (History::default(), origin());
        history.change(origin, &change(8.0, 8.75));
        let mut snapshot = Snapshot::new(8);
        history.look(origin, &snapshot);
        assert_eq!(history.setting, Setting::limit(8.75));

        snapshot.limit = 3;
        history.look(origin, &snapshot);
        assert_eq!(history.setting, Setting::limit(8.75));

        snapshot.frozen = true;
        history.look(origin, &snapshot);
        assert_eq!(history.setting, Setting::limit(3.0));
        assert_eq!(history.moves().iter().count(), 2);
    }

    #[test]
    fn a_pace_of_the_users_stays_when_a_law_moves_the_limit_alone() {
        let (mut history, origin) = (History::default(), origin());
        let mut snapshot = Snapshot::new(8);
        snapshot.pace = Some(per_second(50.0));
        history.begin(&snapshot);
        history.change(origin, &change(8.0, 9.0));
        assert_eq!(history.setting.pace, Some(per_second(50.0)));
    }
}
