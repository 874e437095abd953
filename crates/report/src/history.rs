use std::time::{Duration, Instant};

use tidegate_core::{Change, FurtherPaces, Reason, RefusedReason, Sample, Setting, Snapshot};

use crate::a_move::Move;
use crate::counts::State;
use crate::gave_up::GaveUps;
use crate::intervals::Intervals;
use crate::limit::whole;
use crate::moves::Moves;
use crate::paces::Paces;
use crate::span::Span;

/// What happened, in bounded memory: intervals of equal length, and changes with their reasons.
#[derive(Clone, Debug)]
pub(crate) struct History {
    intervals: Intervals,
    moves: Moves,
    gave_up: GaveUps,
    first_limit: f64,
    /// In force at the end.
    setting: Setting,
    setpoint: Option<f64>,
    paces: Paces,
    /// When somebody last looked.
    further_paces: FurtherPaces,
    /// Whether a law moves it.
    law: bool,
    shadow: bool,
    /// What the door was seen to have that no law was heard to ask for, and when.
    unheard: Option<(Instant, Setting)>,
}

impl Default for History {
    fn default() -> Self {
        let setting = Setting::limit(1.0);
        Self {
            intervals: Intervals::new(State::new(&setting, None)),
            moves: Moves::default(),
            gave_up: GaveUps::default(),
            first_limit: setting.limit,
            setting,
            setpoint: None,
            paces: Paces::default(),
            further_paces: FurtherPaces::default(),
            law: false,
            shadow: false,
            unheard: None,
        }
    }
}

/// What is heard. Each answers whether a new interval has begun.
impl History {
    pub(crate) fn sample(&mut self, now: Instant, sample: &Sample) -> bool {
        self.law = true;
        let (interval, new) = self.intervals.at(now);
        interval.sample(sample);
        new
    }

    pub(crate) fn change(&mut self, now: Instant, change: &Change) -> bool {
        let (_, new) = self.intervals.at(now);
        if change.reason == Reason::Manual && !self.law {
            self.hand(now, change);
            return new;
        }
        self.law = true;
        self.unheard = None;
        if self.moves.is_empty() {
            self.began(change.from.limit);
        }
        let mut change = *change;
        [change.from.pace, change.to.pace] = self.paces.ask(&change);
        self.push(now, change);
        let pause_until = change.to.pause_until.max(self.setting.pause_until);
        self.setting = Setting {
            pause_until,
            ..change.to
        };
        self.set(now);
        new
    }

    pub(crate) fn wait(&mut self, now: Instant, waited: Duration) -> bool {
        let (interval, new) = self.intervals.at(now);
        interval.counts.wait(waited);
        new
    }

    pub(crate) fn refusal(&mut self, now: Instant, why: &RefusedReason, waited: Duration) -> bool {
        let (interval, new) = self.intervals.at(now);
        interval.counts.refusal(why, waited);
        new
    }

    pub(crate) fn retry(&mut self, now: Instant) -> bool {
        let (interval, new) = self.intervals.at(now);
        interval.counts.retry();
        new
    }

    pub(crate) fn give_up(&mut self, now: Instant, why: &'static str) -> bool {
        let (interval, new) = self.intervals.at(now);
        interval.counts.gave_up();
        self.gave_up.count(why);
        new
    }
}

/// How it stands.
impl History {
    /// Before the first event.
    pub(crate) fn begin(&mut self, snapshot: &Snapshot) {
        self.setting = seen(snapshot);
        self.setpoint = snapshot.setpoint;
        self.first_limit = self.setting.limit;
        self.paces = Paces::seen(snapshot.pace);
        self.further_paces = snapshot.further_paces;
        self.law = snapshot.learns;
        self.shadow = snapshot.shadow;
        let state = State::new(&self.setting, self.setpoint);
        self.intervals = Intervals::new(state);
    }

    /// What was seen at a door. What differs and was not heard of was moved by hand, or, where a gate
    /// without a law attends to them, by hints of the service.
    pub(crate) fn look(&mut self, now: Instant, snapshot: &Snapshot) {
        self.intervals.at(now).0.snapshot(snapshot);
        self.law |= snapshot.learns;
        self.shadow = snapshot.shadow;
        self.further_paces = snapshot.further_paces;
        if let Some((since, there)) = self.unheard.take() {
            self.by_hand(since, there);
        }
        let there = self.differing(snapshot);
        let may_be_told = self.law && whole(there.limit) == whole(self.setting.limit);
        if there != self.setting && may_be_told {
            // A law moves the door before it says so: whether it did is known when one looks again.
            self.unheard = Some((now, there));
        } else if there != self.setting {
            self.by_hand(now, there);
        }
        self.aim(now, snapshot.setpoint);
        self.set(now);
    }

    /// The setting, with what a door has otherwise and no law is followed in.
    fn differing(&self, snapshot: &Snapshot) -> Setting {
        let (known, mut there) = (self.setting, seen(snapshot));
        if snapshot.shadow {
            return known;
        }
        let follows = self.law && !snapshot.frozen;
        if follows || whole(known.limit) == whole(there.limit) {
            there.limit = known.limit;
        }
        there.pause_until = there.pause_until.max(known.pause_until);
        there
    }

    fn by_hand(&mut self, at: Instant, to: Setting) {
        let from = self.setting;
        let reason = if whole(from.limit) == whole(to.limit) {
            Reason::Other("by hand, or as the service asked")
        } else {
            Reason::Manual
        };
        self.paces.move_to(to.pace);
        self.push(at, Change { from, to, reason });
        self.setting = to;
        let pause = to.pause_until.filter(|_| to.pause_until > from.pause_until);
        pause
            .into_iter()
            .for_each(|until| self.intervals.pause(at, until));
    }

    /// A door without a law says that it was moved: unless somebody has looked before it did.
    fn hand(&mut self, now: Instant, change: &Change) {
        if change.to == self.setting {
            return;
        }
        if self.moves.is_empty() {
            self.began(change.from.limit);
        }
        self.paces.move_to(change.to.pace);
        self.push(now, *change);
        self.setting = change.to;
        self.set(now);
    }

    /// What share of failures the law aims at.
    fn aim(&mut self, now: Instant, setpoint: Option<f64>) {
        if let (Some(from), Some(to)) = (self.setpoint, setpoint)
            && setpoint != self.setpoint
        {
            let at = self.intervals.since(now);
            self.moves
                .push(Move::aim(at, self.setting, from as f32, to as f32));
        }
        self.setpoint = setpoint;
    }

    /// Before the first change the limit was this one, to a fraction.
    fn began(&mut self, limit: f64) {
        self.first_limit = limit;
        self.setting.limit = limit;
        self.intervals.began(limit);
    }

    /// What holds from now on.
    fn set(&mut self, now: Instant) {
        let state = State::new(&self.setting, self.setpoint);
        self.intervals.set(now, state, self.setting.pause_until);
    }

    fn push(&mut self, now: Instant, change: Change) {
        let at = self.intervals.since(now);
        let pause = change.to.pause_until;
        let pause = pause.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        self.moves.push(Move::new(at, change).pausing(pause));
        let changes = &mut self.intervals.at(now).0.counts.changes;
        *changes = changes.saturating_add(1);
    }
}

/// What a view shows.
impl History {
    /// When the last event came, since the first one.
    pub(crate) fn elapsed(&self) -> Duration {
        self.intervals.elapsed()
    }

    /// How long an interval is.
    pub(crate) fn length(&self) -> Duration {
        self.intervals.length()
    }

    /// All intervals as stretches of `width`, which is at least as long as one.
    pub(crate) fn spans(&self, width: Duration) -> Vec<Span> {
        self.intervals.spans(width)
    }

    /// All of it as one stretch, if anything was heard.
    pub(crate) fn whole(&self) -> Option<Span> {
        self.spans(Duration::MAX).pop()
    }

    pub(crate) fn first_limit(&self) -> f64 {
        self.first_limit
    }

    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Of the whole run: a moment has their number.
    pub(crate) fn gave_up(&self) -> &GaveUps {
        &self.gave_up
    }

    /// The paces beside the first one, when somebody last looked.
    pub(crate) fn further_paces(&self) -> &FurtherPaces {
        &self.further_paces
    }

    /// Whether the law decides without being followed, when somebody last looked.
    pub(crate) fn is_shadow(&self) -> bool {
        self.shadow
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
    use crate::a_move::Event;
    use tidegate_core::{Outcome, Pace, per_second};

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
    fn a_limit_holds_until_it_moves_and_was_there_before_the_first_move() {
        let (mut history, origin) = (History::default(), origin());
        history.sample(origin, &success(origin));
        history.change(origin + Duration::from_millis(35), &change(8.5, 4.25));
        let spans = history.spans(Duration::ZERO);
        let states = [0, 1, 2, 3].map(|index| spans[index].counts().state);
        let limits = [8.5, 8.5, 8.5, 4.25];
        assert_eq!(
            states,
            limits.map(|limit| State::new(&Setting::limit(limit), None))
        );
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
        assert_eq!(spans[1].counts().state, State::new(&seen(&snapshot), None));
    }

    #[test]
    fn what_a_door_without_a_law_says_was_moved_is_kept_once_whether_it_was_seen_before_or_not() {
        let (mut history, origin) = (History::default(), origin());
        let mut snapshot = Snapshot::new(10);
        history.begin(&snapshot);
        history.look(origin, &snapshot);
        let told = |from: &Snapshot, to: &Snapshot| Change {
            from: seen(from),
            to: seen(to),
            reason: Reason::Manual,
        };
        let at = |millis| origin + Duration::from_millis(millis);
        let mut before = snapshot;
        (snapshot.limit, snapshot.pace) = (4, Some(per_second(5.0)));
        history.change(at(10), &told(&before, &snapshot));
        history.look(at(11), &snapshot);
        before = snapshot;
        snapshot.limit = 6;
        history.look(at(20), &snapshot);
        history.change(at(21), &told(&before, &snapshot));
        before = snapshot;
        snapshot.pause_until = Some(at(60));
        history.change(at(30), &told(&before, &snapshot));
        before = snapshot;
        snapshot.pause_until = None;
        history.change(at(45), &told(&before, &snapshot));
        history.look(at(70), &snapshot);

        let moves = kept(&history);
        let to = moves.iter().map(|it| (it.change.to.limit, it.event));
        let pause = Some(Event::Pause(Duration::from_millis(30)));
        assert_eq!(
            to.collect::<Vec<_>>(),
            [(4.0, None), (6.0, None), (6.0, pause), (6.0, None)]
        );
        assert!(moves.iter().all(|it| it.change.reason == Reason::Manual));
        assert!(!history.law);
        let spans = history.spans(Duration::ZERO);
        let paused = spans.iter().map(|span| span.counts().paused);
        let paused: Vec<bool> = paused.collect();
        assert_eq!(
            paused,
            [false, false, false, true, true, false, false, false]
        );
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

    /// As a law's door, with that pace and pause.
    fn learning(pace: Option<Pace>, pause_until: Option<Instant>) -> Snapshot {
        let mut snapshot = Snapshot::new(8);
        snapshot.learns = true;
        (snapshot.pace, snapshot.pause_until) = (pace, pause_until);
        snapshot
    }

    fn kept(history: &History) -> Vec<Move> {
        history.moves().iter().copied().collect()
    }

    #[test]
    fn what_a_law_does_before_it_says_so_is_not_taken_for_done_by_hand() {
        let (mut history, origin) = (History::default(), origin());
        history.begin(&learning(None, None));
        let until = origin + Duration::from_secs(1);
        history.look(origin, &learning(Some(per_second(50.0)), Some(until)));
        let mut told = change(8.0, 8.0);
        (told.to.pace, told.to.pause_until) = (Some(per_second(50.0)), Some(until));
        history.change(origin, &told);
        history.look(until, &learning(Some(per_second(50.0)), None));
        let moves = kept(&history);
        assert_eq!(moves.len(), 1);
        assert_eq!(moves[0].change.reason, Reason::Starting);
        let pause = Duration::from_secs(1);
        assert_eq!(moves[0].event, Some(Event::Pause(pause)));
    }

    #[test]
    fn a_pause_that_no_law_spoke_of_counts_from_when_it_was_seen_though_it_is_over() {
        let (mut history, origin) = (History::default(), origin());
        history.begin(&learning(None, None));
        let at = |millis| origin + Duration::from_millis(millis);
        history.look(origin, &learning(None, None));
        history.look(at(15), &learning(None, Some(at(35))));
        history.look(at(55), &learning(None, None));
        let [pause] = kept(&history)[..] else {
            panic!("one move");
        };
        let long = Duration::from_millis(20);
        assert_eq!(pause.at, Duration::from_millis(15));
        assert_eq!(pause.event, Some(Event::Pause(long)));
        let spans = history.spans(Duration::ZERO);
        let paused = [0, 1, 2, 3, 4, 5].map(|index| spans[index].counts().paused);
        assert_eq!(paused, [false, true, true, true, false, false]);
    }

    #[test]
    fn a_pace_of_the_users_below_the_laws_stays_in_force_and_is_not_moved_by_hand() {
        let (mut history, origin) = (History::default(), origin());
        let own = Some(per_second(50.0));
        history.begin(&learning(own, None));
        let mut found = change(8.0, 8.0);
        found.to.pace = Some(per_second(80.0));
        history.change(origin, &found);
        for second in 0..3 {
            history.look(origin + Duration::from_secs(second), &learning(own, None));
        }
        assert_eq!(history.setting.pace, own);
        assert!(kept(&history).iter().all(|it| !it.is_visible()));
    }

    #[test]
    fn a_setpoint_that_is_seen_moved_is_a_move_and_holds_from_then_on() {
        let (mut history, origin) = (History::default(), origin());
        let mut snapshot = learning(None, None);
        snapshot.setpoint = Some(0.05);
        history.begin(&snapshot);
        history.look(origin, &snapshot);
        snapshot.setpoint = Some(0.02);
        history.look(origin + Duration::from_millis(10), &snapshot);
        let [aim] = kept(&history)[..] else {
            panic!("one move");
        };
        assert_eq!(aim.event, Some(Event::Aim(0.05, 0.02)));
        assert!(aim.is_visible());
        let spans = history.spans(Duration::ZERO);
        let setpoints = [0, 1].map(|index| spans[index].counts().state.setpoint);
        assert_eq!(setpoints, [Some(0.05), Some(0.02)]);
    }

    #[test]
    fn who_waits_and_who_is_refused_counts_where_it_was_heard() {
        let (mut history, origin) = (History::default(), origin());
        let at = |millis| origin + Duration::from_millis(millis);
        assert!(history.wait(at(0), Duration::from_millis(7)));
        assert!(!history.wait(at(1), Duration::from_millis(3)));
        let full = RefusedReason::QueueFull { max_queue: 4 };
        assert!(history.refusal(at(12), &full, Duration::ZERO));
        assert!(!history.refusal(at(13), &RefusedReason::Closed, Duration::from_millis(9)));
        assert!(history.retry(at(20)));
        assert!(history.give_up(at(30), "told_not_to"));
        let run = history.whole().unwrap();
        let counts = run.counts();
        assert_eq!((counts.waited, counts.retries), (2, 1));
        assert_eq!(counts.gave_up, 1);
        assert_eq!(history.gave_up().to_string(), "1 told not to");
        assert_eq!(counts.longest_wait, Duration::from_millis(9));
        assert_eq!(counts.refusals.to_string(), "1 queue full, 1 closed");
        let spans = history.spans(Duration::ZERO);
        let refused = [0, 1, 2].map(|index| spans[index].counts().refusals.total());
        assert_eq!(refused, [0, 2, 0]);
    }
}
