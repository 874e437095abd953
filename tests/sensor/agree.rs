//! What was planned, what callers saw, what the law heard and what the upstream counted agree.

use std::collections::HashMap;

use tidegate::Outcome;
use tidegate_testkit::Upstream;

use crate::plan::{BodyEnd, Course, Plan, Seen, number};
use crate::recording::Heard;
use crate::run::{MOST, Watched};
use crate::support::assert_free;

fn count(outcomes: impl IntoIterator<Item = Outcome>) -> HashMap<Outcome, usize> {
    let mut counts = HashMap::new();
    for outcome in outcomes {
        *counts.entry(outcome).or_default() += 1;
    }
    counts
}

/// What a law heard is what the callers saw; every permit is back.
pub(crate) fn assert_heard(
    course: &Course,
    plans: &[Plan],
    seen: &[Seen],
    watched: &Watched,
) -> Heard {
    let handle = &watched.handle;
    // If somebody moved the limit after the last answer, the law learns of it here.
    handle.law(|_| ());
    let heard = watched.law.heard();
    let sent = (0..plans.len()).filter(|number| watched.spy.sent(*number));
    assert_eq!(heard.starts, sent.count() as u64);

    let mut expected = Vec::new();
    for (plan, seen) in plans.iter().zip(seen) {
        assert!(plan.allows(*seen), "{seen:?} of {plan:?}");
        expected.extend(plan.outcomes(*seen, course.version));
    }
    let outcomes = heard.samples.iter().map(|sample| sample.outcome);
    assert_eq!(count(outcomes), count(expected), "seed {}", course.seed);

    for sample in &heard.samples {
        assert!(sample.in_flight <= MOST && sample.in_flight_at_start <= MOST);
    }
    assert_free(handle, handle.limit());
    heard
}

/// What was sent arrived once, and what was not did not. A caller that left may have taken its
/// request back on the way.
pub(crate) fn assert_arrived(plans: &[Plan], seen: &[Seen], upstream: &Upstream) {
    let mut executed = vec![None; plans.len()];
    for arrival in upstream.arrivals() {
        let number = number(&arrival.key);
        let before = executed[number].replace(arrival.executed.is_some());
        assert_eq!(before, None, "{number} arrived twice");
    }
    for ((plan, seen), executed) in plans.iter().zip(seen).zip(executed) {
        match *seen {
            Seen::Unsent => assert_eq!(executed, None),
            Seen::LeftBeforeHead => {}
            Seen::Failed => assert_eq!(executed, plan.fault.map(|fault| fault.executes())),
            Seen::Head(status, _) => assert_eq!(executed, Some(status != 503)),
        }
    }
    let report = upstream.report();
    assert_eq!((report.in_flight, report.unlogged), (0, 0));
    let ended = report.served + report.refused + report.cancelled + report.aborted;
    assert_eq!(report.arrivals, ended + report.unanswered);
}

fn number_of(seen: &[Seen], which: impl Fn(Seen) -> bool) -> u64 {
    seen.iter().filter(|seen| which(**seen)).count() as u64
}

/// Without a connection between, a request that is dropped has left at that moment.
pub(crate) fn assert_counted(plans: &[Plan], seen: &[Seen], upstream: &Upstream) {
    let report = upstream.report();
    let sent = number_of(seen, |seen| seen != Seen::Unsent);
    let refused = number_of(seen, |seen| matches!(seen, Seen::Head(503, _)));
    let served = number_of(
        seen,
        |seen| matches!(seen, Seen::Head(status, BodyEnd::Read) if status != 503),
    );
    let left = number_of(
        seen,
        |seen| matches!(seen, Seen::Head(status, BodyEnd::Left) if status != 503),
    );
    let broken = number_of(seen, |seen| matches!(seen, Seen::Head(_, BodyEnd::Failed)));
    let mut unanswered = 0;
    let mut cut_in_head = 0;
    let mut left_before_head = 0;
    for (plan, seen) in plans.iter().zip(seen) {
        let before = plan.fault.is_some_and(|fault| !fault.executes());
        match seen {
            Seen::Failed | Seen::LeftBeforeHead if before => unanswered += 1,
            Seen::Failed => cut_in_head += 1,
            Seen::LeftBeforeHead => left_before_head += 1,
            Seen::Unsent | Seen::Head(..) => {}
        }
    }
    assert_eq!(report.arrivals, sent);
    assert_eq!(report.refused, refused);
    assert_eq!(report.served, served);
    assert_eq!(report.unanswered, unanswered);
    assert_eq!(report.aborted, broken + cut_in_head);
    assert_eq!(report.cancelled, left + left_before_head);
    assert!(report.peak_in_flight <= MOST);
}

impl Heard {
    pub(crate) fn add(&mut self, other: &Self) {
        self.starts += other.starts;
        self.samples.extend(&other.samples);
        self.changes += other.changes;
        self.moves += other.moves;
    }

    #[track_caller]
    pub(crate) fn assert_moved(&self) {
        assert!(self.changes > 0, "the law did nothing");
        assert!(self.moves > 0, "nobody moved the limit");
    }

    pub(crate) fn summary(&self) -> String {
        let Self {
            starts,
            samples,
            changes,
            moves,
        } = self;
        let corrections = samples.len() as u64 - starts;
        format!(
            "{starts} sent, {} samples of which {corrections} corrections, {changes} changes of the law, \
             {moves} moves by hand",
            samples.len()
        )
    }
}
