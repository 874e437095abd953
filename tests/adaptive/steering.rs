//! Everything that can be changed while requests are under way: in force at once, and without a jump
//! of its own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tidegate::{Change, GovernorHandle, Invalid, Reason, Units, per_second};
use tidegate_testkit::{Exponential, Upstream, most_in};
use tokio::time::sleep;
use tower::Layer;

use crate::each_law;
use crate::ground::{self, Route, crowd};
use crate::history::History;
use crate::support::now;

/// 16 workers of 20 ms and a queue of 16, of which a few fail anyway; 10 ms away.
fn upstream(failing: f64) -> Upstream {
    Upstream::workers(16)
        .queue(16)
        .fail(failing, 500)
        .service_time(Exponential(20.ms()))
        .start_in_process()
}

/// When the change is made.
const THEN: Duration = Duration::from_secs(8);

async fn governed(failing: f64, change: impl FnOnce(&GovernorHandle)) -> Arc<History> {
    let upstream = upstream(failing);
    let layer = ground::governor();
    let handle = layer.handle();
    let history = History::of(&handle);
    let stack = layer.layer(Route::to(&upstream, 10.ms()));
    let change = async {
        sleep(THEN).await;
        change(&handle);
    };
    join(crowd(64, &stack, 12.s()), change).await;
    history
}

/// What a run and the same run with a change have in common, and the first decision of each after it.
#[track_caller]
fn first_after(same: &History, other: &History) -> [(Duration, Change); 2] {
    let [same, other] = [same, other].map(History::changes);
    let before = same.iter().take_while(|(at, _)| *at <= THEN).count();
    assert_eq!(
        same[..before],
        other[..before],
        "as before until it is changed"
    );
    [same[before], other[before]]
}

#[tokio::test(start_paused = true)]
async fn gains_and_setpoint_move_nothing_and_decide_at_the_end_of_the_round() {
    type Set = fn(&GovernorHandle) -> Result<(), Invalid>;
    // Of 57 answers 3 failed: just above the setpoint.
    let same = governed(0.06, |_| ()).await;
    let sets: [(Set, bool); 6] = [
        (|handle| handle.set_setpoint(0.20), true),
        (|handle| handle.set_setpoint(0.01), false),
        (|handle| handle.set_gains(0.05, 0.18, 0.10), true),
        (|handle| handle.set_gains(0.20, 0.18, 0.10), false),
        (|handle| handle.set_gains(0.10, 0.18, 0.0), true),
        (|handle| handle.set_gains(0.10, 0.18, 0.20), false),
    ];
    for (nth, (set, higher)) in sets.into_iter().enumerate() {
        let other = governed(0.06, |handle| {
            let (limit, asked) = (handle.limit(), handle.setting());
            let before = handle.settings();
            set(handle).unwrap();
            assert_ne!(handle.settings(), before);
            assert_eq!((handle.limit(), handle.setting()), (limit, asked));
        })
        .await;
        let [(at, same), (then, other)] = first_after(&same, &other);
        assert_eq!(
            (at, same.from),
            (then, other.from),
            "{nth}: the same round ends"
        );
        assert_eq!(
            other.to.limit > same.to.limit,
            higher,
            "{nth}: {same:?} {other:?}"
        );
        assert_ne!(same.to, other.to, "{nth}");
    }
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_refused_in_words_and_changes_nothing() {
    let handle = ground::governor().handle();
    let before = handle.settings();
    let refused = [
        handle.set_setpoint(1.0),
        handle.set_setpoint(f64::NAN),
        handle.set_gains(-1.0, 0.0, 0.0),
        handle.set_gains(0.0, f64::INFINITY, 0.0),
        handle.set_min_limit(0),
        handle.set_max_limit(0),
    ];
    for refused in refused {
        assert!(refused.unwrap_err().to_string().contains(" must be "));
    }
    assert_eq!(handle.settings(), before);
    let handle = ground::prober().handle();
    handle.set_max_limit(10).unwrap();
    assert!(handle.set_min_limit(11).is_err());
    assert_eq!((handle.bounds().min(), handle.bounds().max()), (1, 10));
}

/// 12 s of a crowd; after 8 s comes `change`.
macro_rules! steered {
    ($layer:ident, $upstream:ident, $change:expr) => {{
        let history = History::of(&$layer.handle());
        let stack = $layer.layer(Route::to(&$upstream, 10.ms()));
        let change = async {
            sleep(THEN).await;
            $change.await;
        };
        join(crowd(64, &stack, 12.s()), change).await;
        history.assert_seamless(&$layer.handle());
        history
    }};
}

#[tokio::test(start_paused = true)]
async fn a_bound_is_in_force_at_once_and_lifted_it_leaves_the_limit_where_it_is() {
    each_law!(new => {
        let (upstream, layer) = (upstream(0.0), new());
        let handle = layer.handle();
        let history = steered!(layer, upstream, async {
            handle.set_max_limit(10).unwrap();
            assert_eq!(handle.limit(), 10);
            sleep(1.s()).await;
            assert_eq!((handle.limit(), handle.in_flight()), (10, 10));
            handle.set_max_limit(5_000).unwrap();
            assert_eq!(handle.limit(), 10);
            sleep(1.s()).await;
            handle.set_min_limit(50).unwrap();
            assert_eq!(handle.limit(), 50);
            sleep(1.s()).await;
            assert!(handle.limit() >= 50);
            handle.set_min_limit(1).unwrap();
            assert!(handle.limit() >= 50);
        });
        // From 10 on it grows by no more than half at once.
        let changes = history.changes();
        let grows = changes.iter().find(|(at, _)| *at > 9.s()).unwrap().1;
        assert_eq!(grows.from.limit as usize, 10);
        assert!((10.0..15.1).contains(&grows.to.limit), "{grows:?}");
        let by_hand = |(_, change): &&(_, Change)| change.reason == Reason::Manual;
        assert_eq!(changes.iter().filter(by_hand).count(), 2);
        assert!(history.limit(11.5, 12.0) < 45.0);
    });
}

#[tokio::test(start_paused = true)]
async fn a_limit_by_hand_is_in_force_at_once_and_the_law_goes_on_from_there() {
    each_law!(new => {
        let (upstream, layer) = (upstream(0.0), new());
        let handle = layer.handle();
        let history = steered!(layer, upstream, async {
            for limit in [20, 1, 20] {
                handle.set_limit(limit);
                assert_eq!(handle.limit(), limit);
                let started = now();
                while now() - started < 200.ms() {
                    sleep(1.ms()).await;
                    // Those that were inside may stay, and no law doubles a limit within a round.
                    assert!(handle.limit() <= 2 * limit + 6);
                }
            }
        });
        let changes = history.changes();
        let mut by_hand = changes.iter().filter(|(_, change)| change.reason == Reason::Manual);
        for limit in [20.0, 1.0, 20.0] {
            assert!((by_hand.next().unwrap().1.to.limit - limit).abs() < 1e-9);
        }
        assert_eq!(by_hand.next(), None);
        assert!(history.goodput(10.0, 12.0) > 700.0);
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
    });
}

#[tokio::test(start_paused = true)]
async fn a_pace_and_a_pause_are_in_force_at_once_and_leave_the_limit_alone() {
    each_law!(new => {
        let (upstream, layer) = (upstream(0.0), new());
        let handle = layer.handle();
        let arrivals = || upstream.arrivals().iter().map(|arrival| arrival.at).collect::<Vec<_>>();
        let history = steered!(layer, upstream, async {
            handle.set_pace(Some(per_second(100.0)));
            // What was under way has arrived.
            sleep(10.ms()).await;
            let (limit, sent) = (handle.limit(), arrivals().len());
            sleep(1.s()).await;
            assert!(most_in(1.s(), arrivals()[sent..].iter().copied()) <= 105);
            // It was not in use, so it did not grow.
            assert!(handle.limit() <= limit);
            handle.set_pace(None);
            sleep(500.ms()).await;

            let limit = handle.limit();
            handle.pause_until((now() + 1.s()).into_std());
            sleep(100.ms()).await;
            let sent = arrivals().len();
            assert_eq!(handle.in_flight(), 0);
            sleep(899.ms()).await;
            assert_eq!(arrivals().len(), sent);
            assert!(handle.limit().abs_diff(limit) <= 10);
        });
        assert!(history.goodput(11.0, 12.0) > 700.0);
    });
}

#[tokio::test(start_paused = true)]
async fn frozen_it_stays_where_it_is_and_resumed_it_goes_on_from_there() {
    each_law!(new => {
        let (upstream, layer) = (upstream(0.0), new());
        let handle = layer.handle();
        let history = steered!(layer, upstream, async {
            handle.freeze();
            let setting = handle.setting();
            upstream.set_capacity(0.25);
            sleep(2.s()).await;
            assert_eq!(handle.setting(), setting);
            handle.resume();
            assert_eq!(handle.setting(), setting);
        });
        let changes = history.changes();
        assert!(changes.iter().all(|(at, _)| !(8.s()..10.s()).contains(at)));
        let samples = history.goodput(8.5, 10.0);
        assert!(samples > 150.0, "observers hear on: {samples}");
        let (at, resumed) = changes.iter().find(|(at, _)| *at > 10.s()).unwrap();
        assert!(*at < 10_500.ms(), "{at:?}");
        assert!(resumed.to.limit < resumed.from.limit);
        let (full, quarter) = (history.limit(6.0, 8.0), history.limit(11.0, 12.0));
        assert!(quarter < 0.7 * full, "{quarter} of {full}");
    });
}
