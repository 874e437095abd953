//! What the service asks for is done, to the millisecond.

use std::time::Duration;

use futures_util::future::join_all;
use tidegate::{RefusedReason, Units};
use tidegate_testkit::{Fixed, Response, Upstream};
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::each_law;
use crate::ground::get;
use crate::history::History;

/// Answers after 10 ms; each of the first is told that many seconds, 10 ms after the one before.
fn upstream(told: &'static [&'static str]) -> Upstream {
    Upstream::unlimited()
        .service_time(Fixed(10.ms()))
        .script(|_, nth| {
            let seconds = told.get(nth as usize)?;
            let refusal = Response::new(429).header("retry-after", seconds);
            Some(refusal.after((10 * nth).ms()))
        })
        .start_in_process()
}

fn arrivals(upstream: &Upstream) -> Vec<Duration> {
    upstream
        .arrivals()
        .iter()
        .map(|arrival| arrival.at)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_429_with_retry_after_lets_nobody_start_until_then() {
    each_law!(new => {
        let upstream = upstream(&["2"]);
        let layer = new().max(1);
        let history = History::of(&layer.handle());
        let stack = layer.layer(upstream.direct());
        join_all((0..4).map(|_| stack.clone().oneshot(get("/")))).await;
        assert_eq!(arrivals(&upstream), [0.ms(), 2_010.ms(), 2_020.ms(), 2_030.ms()]);
        let (at, change) = history.changes()[0];
        assert_eq!((at, change.reason.to_string()), (10.ms(), "told to stay away for 2s".into()));
        assert_eq!(change.to.limit as usize, 1);
    });
}

#[tokio::test(start_paused = true)]
async fn a_hint_is_counted_from_its_answer_and_a_shorter_one_shortens_nothing() {
    each_law!(new => {
        // At 10, 20 and 30 ms: until 5.010, 1.020 and 6.030 s.
        let upstream = upstream(&["5", "1", "6"]);
        let layer = new().min(3).max(3);
        let stack = layer.layer(upstream.direct());
        join_all((0..4).map(|_| stack.clone().oneshot(get("/")))).await;
        assert_eq!(arrivals(&upstream), [0.ms(), 0.ms(), 0.ms(), 6_030.ms()]);
    });
}

#[tokio::test(start_paused = true)]
async fn a_fraction_is_honoured_and_none_at_all_is_none() {
    each_law!(new => {
        for (told, next) in [(&["0.25"], 260.ms()), (&["0"], 10.ms()), (&["-1"], 10.ms()), (&["soon"], 10.ms())] {
            let upstream = upstream(told);
            let layer = new().max(1);
            let stack = layer.layer(upstream.direct());
            join_all((0..2).map(|_| stack.clone().oneshot(get("/")))).await;
            assert_eq!(arrivals(&upstream), [0.ms(), next], "{told:?}");
        }
    });
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_wait_out_the_pause_is_told_when_to_come() {
    each_law!(new, name => {
        let upstream = upstream(&["5"]);
        let layer = new().max(1).max_wait(1.s());
        let stack = layer.layer(upstream.direct());
        stack.clone().oneshot(get("/")).await.unwrap();
        sleep(990.ms()).await;
        let error = stack.oneshot(get("/")).await.unwrap_err();
        let refused = error.refused().unwrap();
        assert_eq!(refused.by, name);
        assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait: 1.s() });
        assert_eq!(refused.retry_after, Some(4_010.ms()));
    });
}

#[tokio::test(start_paused = true)]
async fn those_inside_are_answered_during_a_pause_and_a_hand_can_end_it() {
    each_law!(new => {
        let upstream = upstream(&["60"]);
        let layer = new().min(2).max(2);
        let stack = layer.layer(upstream.direct());
        let handle = layer.handle();
        let end = async {
            sleep(30.ms()).await;
            assert_eq!(handle.in_flight(), 0);
            handle.end_pause();
        };
        let calls = join_all((0..3).map(|_| stack.clone().oneshot(get("/"))));
        let (answers, ()) = futures_util::future::join(calls, end).await;
        assert_eq!(answers[1].as_ref().unwrap().status(), 200);
        assert_eq!(arrivals(&upstream), [0.ms(), 0.ms(), 30.ms()]);
    });
}
