//! What holds over any stream of samples, for every law.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use tidegate_control::{Aimd, Pid, PidSettings, Prober};
use tidegate_core::{Cause, Change, Controller, Outcome, Reason, Sample, Setting};

const MIN: usize = 2;
const MAX: usize = 300;

fn laws() -> [Box<dyn Controller>; 3] {
    [
        Box::new(Prober::new(Duration::from_secs(7)).min(MIN).max(MAX)),
        Box::new(Pid::new(Duration::from_secs(7)).min(MIN).max(MAX)),
        Box::new(Aimd::new().min(MIN).max(MAX)),
    ]
}

fn origin() -> Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "an origin for instants by addition"
    )]
    Instant::now()
}

fn earlier(now: Instant, by: Duration) -> Instant {
    now.checked_sub(by)
        .expect("a stream begins far from the first instant")
}

/// One event of a stream; times in microseconds.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// How far the clock moves; a step back is negative.
    moves: i64,
    latency: Option<u64>,
    /// Whether the whole limit is in use.
    busy: bool,
    outcome: Outcome,
    retry_after: Option<u64>,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => Just(Outcome::Success),
        1 => Just(Outcome::Overload(Cause::Throttled)),
        1 => Just(Outcome::Overload(Cause::Unavailable)),
        1 => Just(Outcome::Overload(Cause::TimedOut)),
        1 => Just(Outcome::Failure),
        1 => Just(Outcome::Ignored),
    ]
}

fn event(outcome: impl Strategy<Value = Outcome>) -> impl Strategy<Value = Event> {
    let moves = prop_oneof![4 => 0i64..20_000, 1 => Just(0i64), 1 => -50_000i64..30_000_000];
    let latency =
        prop::option::weighted(0.9, prop_oneof![8 => 1u64..200_000, 1 => 0u64..60_000_000]);
    let retry_after = prop::option::weighted(0.02, prop_oneof![0u64..5_000_000, Just(u64::MAX)]);
    (
        moves,
        latency,
        prop::bool::weighted(0.8),
        outcome,
        retry_after,
    )
        .prop_map(|(moves, latency, busy, outcome, retry_after)| Event {
            moves,
            latency,
            busy,
            outcome,
            retry_after,
        })
}

/// Phases of a stream, so that long runs of one outcome occur.
fn stream() -> impl Strategy<Value = Vec<Event>> {
    let phase = prop_oneof![
        3 => prop::collection::vec(event(outcome()), 1..400).boxed(),
        2 => prop::collection::vec(event(Just(Outcome::Success)), 1..400).boxed(),
        1 => prop::collection::vec(event(Just(Outcome::Overload(Cause::Throttled))), 1..100).boxed(),
        1 => prop::collection::vec(event(Just(Outcome::Overload(Cause::TimedOut))), 1..100).boxed(),
    ];
    prop::collection::vec(phase, 1..8).prop_map(|phases| phases.concat())
}

/// Steps `law` through `events`, and shows each step to `check`.
fn play(
    law: &mut dyn Controller,
    events: &[Event],
    mut check: impl FnMut(Setting, &Event, Option<Change>, Setting),
) {
    // Far enough from the first instant for a clock to step back.
    let mut now = origin() + Duration::from_secs(1_000_000);
    for event in events {
        let moves = Duration::from_micros(event.moves.unsigned_abs());
        now = if event.moves < 0 {
            earlier(now, moves)
        } else {
            now + moves
        };
        let before = law.setting();
        let in_flight = if event.busy { before.limit as usize } else { 1 };
        let latency = Duration::from_micros(event.latency.unwrap_or(1_000));
        law.on_start(now, in_flight);
        let sample = Sample {
            started: earlier(now, latency),
            latency: event.latency.map(Duration::from_micros),
            in_flight_at_start: in_flight,
            in_flight,
            outcome: event.outcome,
            retry_after: event.retry_after.map(Duration::from_micros),
        };
        let change = law.on_sample(now, &sample);
        check(before, event, change, law.setting());
    }
}

fn is_for_failure(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Overloaded { .. }
            | Reason::Failing { .. }
            | Reason::Dead { .. }
            | Reason::RateFound { .. }
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_setting_is_finite_and_within_bounds(events in stream()) {
        for mut law in laws() {
            play(&mut *law, &events, |_, _, _, to| {
                let within = MIN as f64..=MAX as f64;
                assert!(within.contains(&to.limit), "{to:?}");
                assert!(to.pace.is_none_or(|pace| pace.rate().is_finite() && pace.rate() > 0.0));
            });
        }
    }

    #[test]
    fn every_move_has_a_change_that_tells_it(events in stream()) {
        for mut law in laws() {
            play(&mut *law, &events, |from, _, change, to| {
                assert_eq!(change.is_some(), from != to);
                if let Some(change) = change {
                    assert_eq!((change.from, change.to), (from, to));
                    assert!(!change.reason.to_string().contains("NaN"));
                }
            });
        }
    }

    #[test]
    fn an_overload_never_raises(events in stream()) {
        for mut law in laws() {
            play(&mut *law, &events, |from, event, change, to| {
                if event.outcome.is_overload() {
                    assert!(to.limit <= from.limit, "{change:?}");
                    let rate = |setting: Setting| setting.pace.map_or(f64::INFINITY, |pace| pace.rate());
                    assert!(rate(to) <= rate(from), "{change:?}");
                }
            });
        }
    }

    #[test]
    fn successes_alone_never_lower_a_limit_for_failure(
        events in prop::collection::vec(event(Just(Outcome::Success)), 1..2_000)
    ) {
        for mut law in laws() {
            play(&mut *law, &events, |from, _, change, to| {
                if let Some(change) = change.filter(|_| to.limit < from.limit) {
                    assert!(!is_for_failure(change.reason), "{change:?}");
                }
            });
        }
    }

    #[test]
    fn a_limit_that_does_not_bind_does_not_grow(
        mut events in prop::collection::vec(event(Just(Outcome::Success)), 1..2_000)
    ) {
        events.iter_mut().for_each(|event| event.busy = false);
        for mut law in laws() {
            law.move_to(origin(), 50.0);
            play(&mut *law, &events, |from, _, change, to| {
                // Of a limit of 2 one in flight is as much in use as can be told.
                assert!(to.limit <= from.limit || from.limit < 3.0, "{change:?}");
            });
        }
    }

    #[test]
    fn what_is_ignored_changes_nothing(events in stream()) {
        for mut law in laws() {
            play(&mut *law, &events, |from, event, change, to| {
                if event.outcome == Outcome::Ignored {
                    assert_eq!((from, None), (to, change));
                }
            });
        }
    }

    #[test]
    fn no_limit_that_is_moved_by_hand_is_out_of_bounds(
        limit in prop_oneof![any::<f64>(), 0.0..1e6f64],
        events in stream(),
    ) {
        for mut law in laws() {
            play(&mut *law, &events, |_, _, _, _| {});
            law.move_to(origin(), limit);
            prop_assert!((MIN as f64..=MAX as f64).contains(&law.setting().limit));
        }
    }

    #[test]
    fn gains_that_change_while_it_runs_do_not_move_the_limit(
        events in stream(),
        kp in 0.0..10.0f64, ki in 0.0..10.0f64, kd in 0.0..10.0f64, setpoint in 0.001..0.999f64,
    ) {
        let mut law = Pid::new(Duration::ZERO).max(MAX);
        play(&mut law, &events, |_, _, _, _| {});
        let before = law.setting();
        law.set(PidSettings { kp, ki, kd, setpoint, ..law.settings() }).unwrap();
        prop_assert_eq!(law.setting(), before);
        play(&mut law, &events, |_, _, _, to| assert!(to.limit.is_finite() && to.limit >= 1.0));
    }
}

#[test]
fn no_limit_is_too_large_to_be_told_whether_it_is_in_use() {
    let laws: [Box<dyn Controller>; 3] = [
        Box::new(
            Prober::new(Duration::ZERO)
                .max(usize::MAX)
                .start(usize::MAX),
        ),
        Box::new(Pid::new(Duration::ZERO).max(usize::MAX).start(usize::MAX)),
        Box::new(Aimd::new().max(usize::MAX).start(usize::MAX)),
    ];
    for mut law in laws {
        let now = origin();
        let sample = Sample {
            started: now,
            latency: Some(Duration::from_millis(50)),
            in_flight_at_start: 1,
            in_flight: 1,
            outcome: Outcome::Success,
            retry_after: None,
        };
        law.on_start(now, 1);
        law.on_sample(now, &sample);
        assert_eq!(law.setting(), Setting::limit(usize::MAX as f64));
    }
}
