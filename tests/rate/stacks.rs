//! Gate and rate on one door, and as two layers: what is left of the two promises after a stall.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures_util::future::join_all;
use tidegate::{Door, GateLayer, RateLayer, Units, per_second};
use tokio::time::{sleep, sleep_until, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::Sends;

/// What the upstream saw: the most at once, and the most that came in 100 ms.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    at_once: usize,
    in_100_ms: u64,
}

/// An upstream that stalls for its first 10 seconds and then takes 10 ms, under a limit of 100 and 20
/// a second, which 300 requests want to pass.
async fn after_a_stall<S, L>(stack: impl FnOnce(Upstream) -> L) -> Seen
where
    S: Send,
    L: Service<u32, Response = S, Future: Send> + Clone,
    L::Error: std::fmt::Debug,
{
    let upstream = Upstream {
        sends: Sends::new(),
        inside: Arc::default(),
        most: Arc::default(),
    };
    let service = stack(upstream.clone());
    let calls = join_all((0..300).map(|_| service.clone().oneshot(1))).await;
    assert!(calls.iter().all(Result::is_ok));
    Seen {
        at_once: upstream.most.load(SeqCst),
        in_100_ms: upstream.sends.most_in(100.ms()),
    }
}

#[derive(Clone)]
struct Upstream {
    sends: Sends,
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Upstream {
    fn service(
        self,
    ) -> impl Service<u32, Response = (), Error = io::Error, Future: Send> + Clone + Send {
        let recorded = self.sends.service();
        service_fn(move |cost| {
            let (recorded, this) = (recorded.clone(), self.clone());
            async move {
                recorded.oneshot(cost).await?;
                let inside = this.inside.fetch_add(1, SeqCst) + 1;
                this.most.fetch_max(inside, SeqCst);
                let stalls = this.sends.origin + 10.s();
                sleep_until(stalls.max(crate::now() + 10.ms())).await;
                this.inside.fetch_sub(1, SeqCst);
                Ok(())
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn one_door_keeps_both_promises_and_two_layers_keep_one() {
    let pace = per_second(20.0);
    let one_door = after_a_stall(|upstream| {
        let gate = GateLayer::new(100).hold_head().pace(pace);
        gate.layer(upstream.service())
    });
    let kept = Seen {
        at_once: 100,
        in_100_ms: 2,
    };
    assert_eq!(one_door.await, kept);
    // What passed the rate while the gate was shut goes at once when it opens.
    let rate_outside = after_a_stall(|upstream| {
        let gate = GateLayer::new(100).hold_head();
        RateLayer::new(pace).layer(gate.layer(upstream.service()))
    });
    let seen = rate_outside.await;
    assert_eq!(seen.at_once, 100);
    assert!(seen.in_100_ms >= 100, "{seen:?}");
    // Inside, both hold at the upstream, but who waits for the rate has a slot.
    let rate = RateLayer::new(pace);
    let gate = GateLayer::new(100).hold_head();
    let (waits, slots) = (rate.handle(), gate.handle());
    let rate_inside = after_a_stall(|upstream| gate.layer(rate.layer(upstream.service())));
    let watch = async {
        sleep(1.s()).await;
        assert_eq!((slots.in_flight(), waits.waiting()), (100, 79));
    };
    let (seen, ()) = tokio::join!(rate_inside, watch);
    assert_eq!(seen, kept);
}

/// What each of the conditions of one door does while the others hold.
#[tokio::test(start_paused = true)]
async fn a_limit_a_pace_and_a_pause_of_one_door_are_taken_together_or_not_at_all() {
    let gate = GateLayer::new(2)
        .hold_head()
        .pace(per_second(10.0).burst(3));
    let handle = gate.handle();
    let sends = Sends::new();
    let recorded = sends.service();
    let takes_150_ms = service_fn(move |cost| {
        let recorded = recorded.clone();
        async move {
            let answer = recorded.oneshot(cost).await;
            sleep(150.ms()).await;
            answer
        }
    });
    let service = gate.layer(takes_150_ms);
    handle.pause_until((crate::now() + 1.s()).into_std());
    let calls = (0..9).map(|call| {
        let service = service.clone();
        async move {
            // Some give up before the pause ends.
            let patience = if call % 3 == 2 { 500.ms() } else { 10.s() };
            timeout(patience, service.oneshot(call)).await.is_ok()
        }
    });
    let watch = async {
        sleep(999.ms()).await;
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 6));
        sleep(2.ms()).await;
        // Two places, and so two of three tokens.
        assert_eq!((handle.in_flight(), handle.waiting()), (2, 4));
        handle.pause_until((crate::now() + 399.ms()).into_std());
        sleep(200.ms()).await;
        // The places are free again, and three tokens are there.
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 4));
    };
    let (served, ()) = tokio::join!(join_all(calls), watch);
    assert_eq!(served.iter().filter(|served| **served).count(), 6);
    let order: Vec<_> = sends.all().iter().map(|(_, call)| *call).collect();
    assert_eq!(order, [0, 1, 3, 4, 6, 7]);
    assert_eq!(sends.millis(), [1_000, 1_000, 1_400, 1_400, 1_550, 1_550]);
    // Two of three at 1,400, one and a half gained until 1,550, two of those taken, one and a half
    // gained until 1,700.
    assert_eq!(handle.in_flight(), 0);
    assert_eq!(
        Door::try_acquire(&handle, 3).unwrap_err().retry_after,
        Some(100.ms())
    );
}
