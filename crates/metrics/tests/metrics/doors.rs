//! Gates, rates, governors and retries.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tidegate_classify::HttpClassifier;
use tidegate_core::{Pace, Refused, RefusedReason, Snapshot, Steer, WeakSteer, per_second};
use tidegate_gate::{GateHandle, GateLayer};
use tidegate_governor::GovernorLayer;
use tidegate_metrics::Metrics;
use tidegate_rate::RateLayer;
use tidegate_retry::{GaveUpReason, Jitter, RetryLayer};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::rendered::Recorded;

const STACK: (&str, &str) = ("tidegate_stack", "crawl");
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_gate_shows_how_it_stands_who_waited_and_who_was_refused() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let gate = GateLayer::new(2).max_queue(1).handle();
    metrics.attach(&gate);
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 2.0);

    let inside = [gate.try_acquire().unwrap(), gate.try_acquire().unwrap()];
    let waits = tokio::spawn({
        let gate = gate.clone();
        async move { gate.acquire().await.unwrap() }
    });
    tokio::task::yield_now().await;
    assert!(gate.acquire().await.is_err());
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_in_flight", &[STACK]), 2.0);
    assert_eq!(recorded.value("tidegate_gate_waiting", &[STACK]), 1.0);

    tokio::time::advance(3 * SECOND).await;
    drop(inside);
    drop(waits.await.unwrap());
    gate.set_limit(7);
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 7.0);
    assert_eq!(recorded.value("tidegate_gate_in_flight", &[STACK]), 0.0);
    assert_eq!(
        recorded.value("tidegate_gate_wait_duration_seconds_sum", &[STACK]),
        3.0
    );
    assert_eq!(
        recorded.value("tidegate_gate_wait_duration_seconds_count", &[STACK]),
        1.0
    );
    let full = [STACK, ("tidegate_reason", "queue_full")];
    assert_eq!(recorded.value("tidegate_gate_refused_total", &full), 1.0);
    assert_eq!(recorded.total("tidegate_gate_refused_total"), 1.0);
    assert_eq!(recorded.total("tidegate_gate_pace_count_per_second"), 0.0);
    assert_eq!(recorded.total("tidegate_gate_outcomes_total"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_pause_counts_down_and_of_several_it_is_the_longest() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let gates = [GateLayer::new(2).handle(), GateLayer::new(3).handle()];
    gates.iter().for_each(|gate| metrics.attach(gate));
    let rate = RateLayer::per_second(10.0).handle();
    metrics.attach(&rate);
    let left = || {
        metrics.refresh();
        ["gate", "rate"].map(|of| recorded.value(&format!("tidegate_{of}_pause_seconds"), &[STACK]))
    };
    assert_eq!(left(), [0.0, 0.0]);
    gates[0].pause_until(now() + 5 * SECOND);
    gates[1].pause_until(now() + 30 * SECOND);
    rate.pause_until(now() + 2 * SECOND);
    assert_eq!(left(), [30.0, 2.0]);
    tokio::time::advance(3 * SECOND + SECOND / 4).await;
    assert_eq!(left(), [26.75, 0.0]);
    gates[1].end_pause();
    assert_eq!(left(), [1.75, 0.0]);
    drop(gates);
    assert_eq!(left(), [0.0, 0.0]);
}

#[test]
fn ten_thousand_refusals_are_ten_thousand() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let gate = GateLayer::new(1).handle();
    metrics.attach(&gate);
    let _inside = gate.try_acquire().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..2_500).for_each(|_| drop(gate.try_acquire().unwrap_err())));
        }
    });
    gate.close();
    assert!(gate.try_acquire().is_err());
    let reason = |reason| [STACK, ("tidegate_reason", reason)];
    assert_eq!(
        recorded.value("tidegate_gate_refused_total", &reason("no_room")),
        10_000.0
    );
    assert_eq!(
        recorded.value("tidegate_gate_refused_total", &reason("closed")),
        1.0
    );
}

#[test]
fn each_of_several_paces_has_its_number_and_of_several_doors_each_number_is_a_sum() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("llm");
    let quota = || RateLayer::per_second(8.0).and(per_second(3_000.0)).handle();
    let rates = [quota(), quota(), RateLayer::per_second(2.0).handle()];
    rates.iter().for_each(|rate| metrics.attach(rate));
    let pace = |number| {
        let labels = [("tidegate_stack", "llm"), ("tidegate_pace_number", number)];
        recorded.find("tidegate_rate_pace_count_per_second", &labels)
    };
    metrics.refresh();
    assert_eq!(["0", "1", "2"].map(pace), [Some(18.0), Some(6_000.0), None]);
    rates[0].set_pace_of(1, None);
    metrics.refresh();
    assert_eq!(["0", "1"].map(pace), [Some(18.0), Some(3_000.0)]);
    drop(rates);
    metrics.refresh();
    assert_eq!(["0", "1"].map(pace), [Some(0.0), Some(0.0)]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_has_a_pace_and_no_limit() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let rate = RateLayer::new(per_second(10.0)).handle();
    metrics.attach(&rate);
    rate.acquire(1).await.unwrap();
    rate.acquire(1).await.unwrap();
    rate.set_pace(None);
    metrics.refresh();
    assert_eq!(
        recorded.value(
            "tidegate_rate_pace_count_per_second",
            &[STACK, ("tidegate_pace_number", "0")]
        ),
        0.0
    );
    assert_eq!(recorded.value("tidegate_rate_waiting", &[STACK]), 0.0);
    assert_eq!(
        recorded.value("tidegate_rate_wait_duration_seconds_sum", &[STACK]),
        0.1
    );
    assert!(
        !recorded
            .lines()
            .iter()
            .any(|line| line.contains("gate_limit{") || line.contains("in_flight{"))
    );
}

/// Answers with the status that is its request's path.
async fn by_path(request: Request<()>) -> Result<Response<()>, std::io::Error> {
    let status = request.uri().path()[1..].parse::<u16>().unwrap();
    Ok(Response::builder().status(status).body(()).unwrap())
}

fn get(status: u16) -> Request<()> {
    Request::get(format!("http://a.example/{status}?key=secret"))
        .body(())
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_governor_shows_outcomes_and_its_share_of_failures_against_the_setpoint() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let layer = GovernorLayer::new(HttpClassifier::default())
        .setpoint(0.02)
        .hold_head();
    let handle = layer.handle();
    metrics.attach(&handle);
    let stack = layer.layer(service_fn(by_path));
    for status in [503, 200, 200, 404, 200, 500, 429] {
        let _ = stack.clone().oneshot(get(status)).await.unwrap();
    }
    // The first of them was published at once, and nothing since.
    let outcome = |outcome| [STACK, ("tidegate_outcome", outcome)];
    assert_eq!(recorded.total("tidegate_gate_outcomes_total"), 1.0);
    metrics.refresh();
    for (said, count) in [
        ("success", 3.0),
        ("unavailable", 1.0),
        ("throttled", 1.0),
        ("failure", 1.0),
        ("ignored", 1.0),
        ("timed_out", 0.0),
        ("connection", 0.0),
    ] {
        assert_eq!(
            recorded.value("tidegate_gate_outcomes_total", &outcome(said)),
            count,
            "{said}"
        );
    }
    assert_eq!(
        recorded.value("tidegate_governor_setpoint_ratio", &[STACK]),
        0.02
    );
    // 1 of 1, then 2 of 5, which weigh 1 − e^(−5/200).
    let kept = f64::exp(-5.0 / 200.0);
    let share = kept * 1.0 + (1.0 - kept) * 0.4;
    assert_eq!(
        recorded.value("tidegate_governor_failure_share_ratio", &[STACK]),
        share
    );

    // An event 100 ms later finds that it is time.
    tokio::time::advance(Duration::from_millis(100)).await;
    let _ = stack.clone().oneshot(get(200)).await.unwrap();
    assert_eq!(recorded.total("tidegate_gate_outcomes_total"), 8.0);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_the_limit_is_what_the_law_asks_for() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let layer = GovernorLayer::new(HttpClassifier::default()).hold_head();
    let handle = layer.handle();
    metrics.attach(&handle);
    handle.shadow(true);
    handle.law(|law| tidegate_core::Controller::move_to(law, now(), 12.0));
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 12.0);
    handle.shadow(false);
    metrics.refresh();
    assert_eq!(
        recorded.value("tidegate_gate_limit", &[STACK]),
        handle.limit() as f64
    );
}

#[test]
fn of_several_in_shadow_the_limit_is_what_their_laws_ask_for_together_from_the_start() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let handles = [10, 3].map(|limit| {
        let layer = GovernorLayer::new(HttpClassifier::default()).start(limit);
        let handle = layer.handle();
        handle.shadow(true);
        metrics.attach(&handle);
        handle
    });
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 13.0);
    handles[0].law(|law| tidegate_core::Controller::move_to(law, now(), 20.0));
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 23.0);
}

#[tokio::test(start_paused = true)]
async fn a_law_that_follows_a_hand_while_it_is_looked_at_does_not_stop_the_look() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let handle = GovernorLayer::new(HttpClassifier::default()).handle();
    metrics.attach(&handle);
    // The law is told of it by who looks, and tells its observers of that.
    handle.set_limit(7);
    tokio::time::advance(SECOND).await;
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 7.0);
    handle.set_limit(8);
    tokio::time::advance(SECOND).await;
    metrics.attach(&handle);
}

/// To look at it asks for all that the stack shows, as one that hears of it may.
#[derive(Debug)]
struct Asks(Metrics);

impl Steer for Asks {
    fn snapshot(&self) -> Snapshot {
        Snapshot::new(7)
    }

    fn downgrade(&self) -> WeakSteer {
        let (metrics, asks) = (self.0.clone(), AtomicBool::new(true));
        WeakSteer::new(move || {
            if asks.swap(false, Relaxed) {
                metrics.refresh();
            }
            Some(Snapshot::new(7))
        })
    }

    fn set_limit(&self, _limit: usize) {}

    fn set_pace(&self, _pace: Option<Pace>) {}

    fn pause_until(&self, _until: std::time::Instant) {}
}

#[test]
fn who_is_looked_at_may_ask_for_a_look() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    metrics.attach(&Asks(metrics.clone()));
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 7.0);
}

#[test]
fn a_thousand_gates_of_one_stack_are_looked_at_five_times_each_as_they_come() {
    let _recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let looks = Arc::new(AtomicUsize::new(0));
    for _ in 0..1_024 {
        metrics.attach(&Counts(Arc::clone(&looks)));
    }
    assert!(looks.load(Relaxed) < 5 * 1_024, "{looks:?}");
}

/// Counts how often it is looked at.
#[derive(Debug)]
struct Counts(Arc<AtomicUsize>);

impl Steer for Counts {
    fn snapshot(&self) -> Snapshot {
        Snapshot::new(1)
    }

    fn downgrade(&self) -> WeakSteer {
        let looks = Arc::clone(&self.0);
        WeakSteer::new(move || {
            looks.fetch_add(1, Relaxed);
            Some(Snapshot::new(1))
        })
    }

    fn set_limit(&self, _limit: usize) {}

    fn set_pace(&self, _pace: Option<Pace>) {}

    fn pause_until(&self, _until: std::time::Instant) {}
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clock of the test, which is paused"
)]
fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

#[tokio::test(start_paused = true)]
async fn each_attempt_after_the_first_counts_and_the_call_that_is_given_up() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let retry = RetryLayer::exponential(SECOND..SECOND)
        .jitter(Jitter::None)
        .attempts(3);
    let stack = ServiceBuilder::new()
        .layer(retry.observe(metrics.observer()))
        .service(service_fn(async |request: Request<Full<Bytes>>| {
            by_path(request.map(drop))
                .await
                .map(|answer| answer.map(|()| Full::<Bytes>::default()))
        }));
    let get = |status| get(status).map(|()| Full::default());
    let _ = stack.clone().oneshot(get(200)).await.unwrap();
    assert_eq!(
        recorded.value("tidegate_retry_attempts_total", &[STACK]),
        0.0
    );
    let _ = stack.clone().oneshot(get(503)).await.unwrap();
    assert_eq!(
        recorded.value("tidegate_retry_attempts_total", &[STACK]),
        2.0
    );
    let attempts = [STACK, ("tidegate_reason", "attempts")];
    assert_eq!(
        recorded.value("tidegate_retry_gave_up_total", &attempts),
        1.0
    );
    assert_eq!(recorded.total("tidegate_retry_gave_up_total"), 1.0);
}

/// Why a retry may give up. A new reason is to be counted by its name too.
fn reasons() -> [GaveUpReason; 9] {
    let refused = Refused::new("gate", RefusedReason::Closed);
    [
        GaveUpReason::Attempts { attempts: 2 },
        GaveUpReason::Deadline { deadline: SECOND },
        GaveUpReason::Budget,
        GaveUpReason::HintTooLong { max_hint: SECOND },
        GaveUpReason::MayBeProcessed,
        GaveUpReason::BodyNotReplayable,
        GaveUpReason::QuotaExhausted,
        GaveUpReason::ToldNotTo,
        GaveUpReason::Refused(refused),
    ]
}

#[test]
fn each_reason_to_give_up_has_its_counter_from_the_start_and_what_is_not_known_one_together() {
    let recorded = Recorded::new();
    let observer = Metrics::new("crawl").observer();
    let mut names: Vec<_> = reasons().iter().map(GaveUpReason::name).collect();
    names.push("_OTHER");
    for (nth, name) in (1..).zip(&names) {
        (0..nth).for_each(|_| observer.on_gave_up(now(), name, 1));
    }
    observer.on_gave_up(now(), "some_other_day", 1);
    for (nth, name) in (1_u32..).zip(&names) {
        let of_name = [STACK, ("tidegate_reason", *name)];
        let expected = if *name == "_OTHER" { 11 } else { nth };
        let counted = recorded.value("tidegate_retry_gave_up_total", &of_name);
        assert_eq!(counted, f64::from(expected), "{name}");
    }
    names.sort_unstable();
    assert_eq!(recorded.values_of("tidegate_reason"), names);
}

#[test]
fn a_gate_that_is_gone_is_freed_and_its_gauges_are_zero() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let gate = GateLayer::new(9);
    let gone = gate.handle().downgrade();
    metrics.attach(&gate.handle());
    drop(gate);
    assert_eq!(gone.snapshot(), None);
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 9.0);
    metrics.refresh();
    for name in ["limit", "in_flight", "waiting", "pause_seconds"] {
        assert_eq!(
            recorded.value(&format!("tidegate_gate_{name}"), &[STACK]),
            0.0
        );
    }
}

#[test]
fn two_gates_of_one_stack_are_one_sum() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let gates: [GateHandle; 2] = [GateLayer::new(2).handle(), GateLayer::new(3).handle()];
    let _inside = gates[1].try_acquire().unwrap();
    gates.iter().for_each(|gate| metrics.attach(gate));
    metrics.refresh();
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 5.0);
    assert_eq!(recorded.value("tidegate_gate_in_flight", &[STACK]), 1.0);
}

#[test]
fn what_is_not_known_by_type_can_be_attached() {
    let recorded = Recorded::new();
    let shared: Arc<dyn Steer> = Arc::new(GateLayer::new(4).handle());
    Metrics::new("crawl").attach(&*shared);
    assert_eq!(recorded.value("tidegate_gate_limit", &[STACK]), 4.0);
}

#[test]
fn each_metric_says_what_it_is_and_in_which_unit() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let governor = GovernorLayer::new(HttpClassifier::default()).pace(per_second(5.0));
    let rate = RateLayer::new(per_second(10.0));
    metrics.attach(&governor.handle());
    metrics.attach(&rate.handle());
    let _ = metrics.observer();
    let lines = recorded.lines();
    for (name, kind) in [
        ("tidegate_gate_limit", "gauge"),
        ("tidegate_gate_in_flight", "gauge"),
        ("tidegate_gate_waiting", "gauge"),
        ("tidegate_gate_pace_count_per_second", "gauge"),
        ("tidegate_gate_pause_seconds", "gauge"),
        ("tidegate_gate_wait_duration_seconds", "histogram"),
        ("tidegate_gate_refused_total", "counter"),
        ("tidegate_gate_outcomes_total", "counter"),
        ("tidegate_rate_waiting", "gauge"),
        ("tidegate_rate_pace_count_per_second", "gauge"),
        ("tidegate_rate_pause_seconds", "gauge"),
        ("tidegate_rate_wait_duration_seconds", "histogram"),
        ("tidegate_rate_refused_total", "counter"),
        ("tidegate_governor_setpoint_ratio", "gauge"),
        ("tidegate_governor_failure_share_ratio", "gauge"),
        ("tidegate_retry_attempts_total", "counter"),
        ("tidegate_retry_gave_up_total", "counter"),
    ] {
        assert!(
            lines.contains(&format!("# TYPE {name} {kind}")),
            "{name} {lines:#?}"
        );
        let help = format!("# HELP {name} ");
        assert!(
            lines.iter().any(|line| line.starts_with(&help)),
            "{name} {lines:#?}"
        );
    }
}
