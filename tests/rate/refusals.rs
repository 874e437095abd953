//! Whom a rate refuses, and whom the layers below do: nobody is charged for what was not sent.

use std::io;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tidegate::{
    Error, GateLayer, KeyedLayer, RateLayer, Refused, RefusedReason, Units, per_hour, per_second,
    strict,
};
use tokio::time::{sleep, timeout};
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::{Sends, now};

/// A layer below that always says no.
fn closed() -> impl Service<u32, Response = u32, Error = Error, Future: Send> + Clone {
    let gate = GateLayer::new(1).hold_head();
    gate.handle().close();
    gate.layer(service_fn(async |cost: u32| Ok::<_, io::Error>(cost)))
}

#[tokio::test(start_paused = true)]
async fn what_a_layer_below_refuses_is_given_back() {
    let one = RateLayer::per_hour(1.0);
    let several = RateLayer::per_hour(1.0).and(per_hour(2.0).burst(2));
    for _ in 0..3 {
        let error = one.layer(closed()).oneshot(1).await.unwrap_err();
        assert_eq!(error.refused().unwrap().by, "gate");
        let error = several.layer(closed()).oneshot(1).await.unwrap_err();
        assert_eq!(error.refused().unwrap().by, "gate");
    }
    for handle in [one.handle(), several.handle()] {
        handle.try_acquire(1).unwrap();
        assert!(handle.try_acquire(1).is_err());
    }
}

/// Ten tokens are taken, refused below a second later, and meanwhile there again and sent by another.
async fn ten_after_a_late_refusal<Q>(rate: RateLayer<Q>) -> Vec<u128>
where
    RateLayer<Q>: Layer<Waits, Service: Calls> + Layer<Answers, Service: Calls>,
{
    let sends = Sends::new();
    let log = sends.clone();
    let answers: Answers = BoxCloneService::new(sends.service());
    let gate = GateLayer::new(1).hold_head().max_wait(1_001.ms());
    let _held = gate.handle().try_acquire().unwrap();
    let waits: Waits = BoxCloneService::new(gate.layer(answers.clone()));
    let late = rate.layer(waits).oneshot(10);
    let others = async {
        sleep(1.s()).await;
        let service = rate.layer(answers);
        service.clone().oneshot(10).await.unwrap();
        sleep(1.ms()).await;
        service.oneshot(10).await.unwrap();
    };
    let (refused, ()) = tokio::join!(late, others);
    assert_eq!(refused.unwrap_err().refused().unwrap().by, "gate");
    log.millis()
}

type Waits = BoxCloneService<u32, u32, Error>;
type Answers = BoxCloneService<u32, u32, io::Error>;

trait Calls: Service<u32, Response = u32, Error = Error> + Clone {}

impl<S: Service<u32, Response = u32, Error = Error> + Clone> Calls for S {}

#[tokio::test(start_paused = true)]
async fn what_is_refused_late_is_not_there_twice_in_several_quotas_or_settled_ones() {
    let pace = per_second(10.0).burst(10);
    let cost = |cost: &u32| *cost;
    let several = RateLayer::new(pace).cost(cost).and(per_second(1e6));
    assert_eq!(ten_after_a_late_refusal(several).await, [1_000, 2_000]);
    let settled = RateLayer::new(pace).cost(cost).settle(|_: &u32| None);
    assert_eq!(ten_after_a_late_refusal(settled).await, [1_000, 2_000]);
}

#[tokio::test(start_paused = true)]
async fn what_the_service_answers_was_sent_and_is_spent() {
    let rate = RateLayer::per_hour(1.0);
    let broken = service_fn(async |_: u32| Err::<u32, _>(io::Error::other("reset")));
    let error = rate.layer(broken).oneshot(1).await.unwrap_err();
    assert!(error.refused().is_none());
    assert!(rate.handle().try_acquire(1).is_err());

    let rate = RateLayer::per_hour(1.0);
    let silent = service_fn(async |_: u32| std::future::pending::<io::Result<u32>>().await);
    assert!(timeout(1.s(), rate.layer(silent).oneshot(1)).await.is_err());
    assert!(rate.handle().try_acquire(1).is_err());
}

#[tokio::test(start_paused = true)]
async fn twenty_of_one_key_take_one_token_of_all_and_one_that_all_refuse_keeps_the_token_of_its_key()
 {
    let sends = Sends::new();
    let of_all = RateLayer::per_hour(1.0).burst(10).max_wait(0.s());
    let all = of_all.handle();
    let stack = ServiceBuilder::new()
        .layer(KeyedLayer::new(
            |key: &u32| key.to_string(),
            |_| RateLayer::per_hour(1.0).max_wait(0.s()),
        ))
        .layer(of_all)
        .service(sends.service());
    let key_of = async |key| -> Option<Option<String>> {
        let error: Error = stack.clone().oneshot(key).await.err()?;
        let refused = error.refused().unwrap();
        assert_eq!(refused.by, "rate");
        Some(refused.key.as_deref().map(str::to_owned))
    };
    for turn in 0..20 {
        let refused = key_of(0).await;
        assert_eq!(refused, (turn > 0).then(|| Some("0".to_owned())));
    }
    // The nineteen took nothing of the nine that are left.
    for key in 1..30 {
        let refused = key_of(key).await;
        assert_eq!(refused, (key > 9).then_some(None), "{key}");
    }
    assert_eq!(sends.count(), 10);
    // Those that all refused have the token of their key, and the others have spent it.
    all.set_pace(None);
    for key in 0..30 {
        assert_eq!(key_of(key).await.is_none(), key > 9, "{key}");
    }
    assert_eq!(sends.count(), 30);
}

#[tokio::test(start_paused = true)]
async fn fifty_behind_a_strict_five_a_second_are_served_in_their_time_or_refused_after_three_seconds()
 {
    let rate = RateLayer::strict(5, 1.s());
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = (0..50).map(|_| timeout(2_999.ms(), service.clone().oneshot(1)));
    let answers = join_all(calls).await;
    assert!(answers.iter().flatten().all(Result::is_ok));
    assert_eq!(answers.iter().flatten().count(), 15);
    assert_eq!(sends.most_in(1.s()), 5);
    assert_eq!(rate.handle().waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn fifty_that_may_wait_three_seconds_are_refused_by_their_own_limit_and_nobody_before() {
    let rate = RateLayer::per_second(5.0).max_wait(3.s());
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let answers = join_all((0..50).map(|_| service.clone().oneshot(1))).await;
    let even: Vec<_> = (0..16).map(|turn| turn * 200).collect();
    assert_eq!(sends.millis(), even);
    for answer in &answers[16..] {
        let refused = answer.as_ref().unwrap_err().refused().unwrap();
        let max_wait = 3.s();
        assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_there_on_the_first_poll_with_the_time_to_come_again() {
    let works = Sends::new();
    for (rate, retry_after) in [
        (RateLayer::per_second(10.0).burst(3).max_queue(5), 600.ms()),
        (
            RateLayer::per_second(10.0).burst(3).max_wait(500.ms()),
            600.ms(),
        ),
        (RateLayer::strict(3, 1.s()).max_queue(3), 2.s()),
        (RateLayer::strict(3, 1.s()).max_wait(1.s()), 2.s()),
    ] {
        let service = rate.layer(works.service());
        let mut waits = Vec::new();
        let mut refusals = Vec::new();
        for _ in 0..10 {
            let mut call = Box::pin(service.clone().oneshot(1));
            match (&mut call).now_or_never() {
                None => waits.push(call),
                Some(answer) => refusals.extend(answer.err()),
            }
        }
        assert_eq!(refusals.len() + waits.len(), 7);
        for refusal in refusals {
            let refused: &Refused = refusal.refused().unwrap();
            assert_eq!(refused.retry_after, Some(retry_after), "{refused}");
        }
        assert!(join_all(waits).await.iter().all(Result::is_ok));
    }
}

/// Some of a flood give up, at any moment, also at that of their turn: as if those had not come.
#[tokio::test(start_paused = true)]
async fn whoever_gives_up_at_any_moment_leaves_the_times_of_the_others_as_if_it_had_not_come() {
    for seed in 0..200 {
        let mut random = SmallRng::seed_from_u64(seed);
        let rate = RateLayer::per_second(10.0).burst(random.random_range(1..5));
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        // Half of them on a multiple of the period.
        let patience: Vec<_> = (0..40)
            .map(|_| match random.random_range(0..4) {
                0 => Duration::from_millis(random.random_range(1..3_000)),
                1 => 100.ms() * random.random_range(1..30),
                _ => Duration::MAX,
            })
            .collect();
        let calls = patience.iter().map(|&patience| {
            let call = service.clone().oneshot(1);
            async move { timeout(patience, call).await.is_ok() }
        });
        let served = join_all(calls).await;
        assert_eq!(
            sends.count(),
            served.iter().filter(|served| **served).count()
        );
        let burst = rate.handle().pace().unwrap().bucket() as usize;
        let due: Vec<_> = (0..sends.count())
            .map(|turn| (turn + 1).saturating_sub(burst) as u128 * 100)
            .collect();
        assert_eq!(sends.millis(), due, "seed {seed}");
        assert!(
            patience
                .iter()
                .zip(served)
                .all(|(patience, served)| { served || *patience < Duration::MAX })
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_offered_at_twice_the_rate_and_two_large_ones_wait_for_those_before_them_alone() {
    let rate = RateLayer::per_second(10.0)
        .burst(10)
        .cost(|cost: &u32| *cost);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let origin = now();
    // One each 50 ms for a minute, and ten at 1 s and at 30 s.
    let cost_at = |call: u64| if call == 20 || call == 600 { 10 } else { 1 };
    let calls = (0..1_200).map(|call| {
        let service = service.clone();
        async move {
            sleep(Duration::from_millis(50 * call)).await;
            let came = now();
            service.oneshot(cost_at(call)).await.unwrap();
            (came - origin, now() - origin)
        }
    });
    let mut before = 0_u64;
    for (call, (came, sent)) in (0..).zip(join_all(calls).await) {
        // A bucket of ten has gained what came before, and it; or it did not wait.
        let due =
            Duration::from_millis(100 * (before + u64::from(cost_at(call))).saturating_sub(10));
        assert!(
            sent <= due.max(came) + 100.ms(),
            "{call}: {sent:?} due {due:?}"
        );
        before += u64::from(cost_at(call));
    }
    let order: Vec<_> = sends.all().iter().map(|(_, cost)| *cost).collect();
    let came: Vec<_> = (0..1_200).map(cost_at).collect();
    assert_eq!(order, came);
}

#[tokio::test(start_paused = true)]
async fn each_of_a_hundred_behind_three_hundred_a_minute_is_served_in_its_turn() {
    for (pace, last) in [
        (per_second(5.0), 19_800),
        (per_second(5.0).burst(20), 16_000),
        (strict(5, 1.s()), 19_000),
    ] {
        let sends = Sends::new();
        let service = RateLayer::new(pace).layer(sends.service());
        join_all((0..100).map(|me| service.clone().oneshot(me))).await;
        let order: Vec<_> = sends.all().iter().map(|(_, me)| *me).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert_eq!(sends.millis()[99], last);
    }
}
