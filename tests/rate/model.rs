//! Requests at random that wait, give up and are refused, by the door and by what is below it, beside
//! what those alone would have cost that were sent.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tidegate::{
    BoxError, Door, Error, GateLayer, IntoQuota, Pace, RateLayer, Refused, RefusedReason, Units,
    per,
};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceExt};

use crate::now;

/// A bucket by counting: when it would be full, in milliseconds.
#[derive(Debug)]
struct Counted {
    period: u64,
    burst: u64,
    full: u64,
}

impl Counted {
    fn of(pace: Pace) -> Self {
        Self {
            period: pace.period().as_millis() as u64,
            burst: u64::from(pace.bucket()),
            full: 0,
        }
    }

    fn charge(&mut self, at: u64, cost: u32) {
        self.full = self.full.max(at) + u64::from(cost) * self.period;
    }

    /// From when on it owes nothing.
    fn pays(&self) -> u64 {
        self.full.saturating_sub(self.burst * self.period)
    }
}

/// What becomes of a request below.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Answered,
    Broken,
    Refused,
}

#[derive(Clone, Copy, Debug)]
struct Asks {
    costs: [u32; 2],
    fate: Fate,
    takes: Duration,
}

/// When, and what it costs.
type Sent = (u64, [u32; 2]);

/// What is below: often not ready, never so for some, and what it refuses was not sent.
#[derive(Clone, Debug)]
struct Below {
    origin: Instant,
    random: Arc<Mutex<SmallRng>>,
    sent: Arc<Mutex<Vec<Sent>>>,
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Below {
    fn new(seed: u64) -> Self {
        Self {
            origin: now(),
            random: Arc::new(Mutex::new(SmallRng::seed_from_u64(!seed))),
            sent: Arc::default(),
            inside: Arc::default(),
            most: Arc::default(),
        }
    }

    fn millis(&self) -> u64 {
        (now() - self.origin).as_millis() as u64
    }
}

/// One more is inside, until it is dropped.
struct Inside(Arc<AtomicUsize>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Service<Asks> for Below {
    type Response = ();
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self.random.lock().unwrap().random_range(0..10) {
            0 => Poll::Ready(Err(io::Error::other("it cannot get ready").into())),
            1 | 2 => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, asks: Asks) -> Self::Future {
        let inside = Inside(Arc::clone(&self.inside));
        let count = self.inside.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(count, SeqCst);
        if !matches!(asks.fate, Fate::Refused) {
            let at = self.millis();
            self.sent.lock().unwrap().push((at, asks.costs));
        }
        Box::pin(async move {
            let _inside = inside;
            if !asks.takes.is_zero() {
                sleep(asks.takes).await;
            }
            match asks.fate {
                Fate::Answered => Ok(()),
                Fate::Broken => Err(io::Error::other("reset").into()),
                Fate::Refused => {
                    let refused = Refused::new("below", RefusedReason::NoRoom);
                    Err(Error::from(refused).into())
                }
            }
        })
    }
}

/// What may happen in a run.
#[derive(Clone, Copy, Debug)]
struct Chances {
    most_cost: u32,
    /// A layer below may think about a refusal.
    late_refusals: bool,
}

/// A hundred moments at random, and then all that wait are let through. Whoever was asked to wait
/// below for a refusal does not give up, since then nobody knows that it was not sent.
async fn run<S>(seed: u64, chances: Chances, service: &S, door: &Door)
where
    S: Service<Asks, Response = (), Error = Error, Future: Send> + Clone + Send + 'static,
{
    let mut random = SmallRng::seed_from_u64(seed);
    let mut calls = Vec::new();
    for _ in 0..100 {
        sleep(Duration::from_millis(random.random_range(0..120))).await;
        let some = random.random_bool(0.5);
        let wait = Duration::from_millis(random.random_range(0..600));
        match random.random_range(0..20) {
            0 => door.set_max_wait(some.then_some(wait)),
            1 => door.set_max_queue(if some {
                random.random_range(0..4)
            } else {
                usize::MAX
            }),
            2 => door.pause_until((now() + wait).into_std()),
            3 => door.end_pause(),
            _ => {
                let fate = match random.random_range(0..4) {
                    0 => Fate::Refused,
                    1 => Fate::Broken,
                    _ => Fate::Answered,
                };
                let refused = matches!(fate, Fate::Refused);
                let asks = Asks {
                    costs: [(); 2].map(|()| random.random_range(1..=chances.most_cost)),
                    fate,
                    takes: if refused && !chances.late_refusals {
                        0.s()
                    } else {
                        wait / 2
                    },
                };
                let patience = if some && (!refused || asks.takes.is_zero()) {
                    Duration::from_millis(random.random_range(1..400))
                } else {
                    Duration::MAX
                };
                let call = service.clone().oneshot(asks);
                calls.push(tokio::spawn(async move {
                    let _gave_up = timeout(patience, call).await;
                }));
            }
        }
    }
    door.set_max_wait(None);
    door.set_max_queue(usize::MAX);
    door.end_pause();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

const CASES: u64 = 200;

async fn two_quotas(chances: Chances) {
    let mut sent = 0;
    for seed in 0..CASES {
        let paces = [per(1.0, 100.ms()).burst(5), per(1.0, 70.ms()).burst(4)];
        let rate = RateLayer::new(paces[0])
            .cost(|asks: &Asks| asks.costs[0])
            .and(paces[1].cost(|asks: &Asks| asks.costs[1]));
        let below = Below::new(seed);
        let handle = rate.handle();
        run(seed, chances, &rate.layer(below.clone()), &handle).await;
        let mut counted = paces.map(Counted::of);
        for &(at, costs) in &*below.sent.lock().unwrap() {
            counted[0].charge(at, costs[0]);
            counted[1].charge(at, costs[1]);
            sent += 1;
        }
        // How long each would have to wait until it is full, and the other out of debt.
        handle.set_max_wait(Some(0.s()));
        let now = below.millis();
        for (one, other, costs) in [(0, 1, [5, 0]), (1, 0, [0, 4])] {
            let due = counted[one].full.max(counted[other].pays());
            let due = due.checked_sub(now).filter(|wait| *wait > 0);
            let wait = handle.acquire_each(&costs).await.err();
            let wait = wait.map(|refused| refused.retry_after.unwrap());
            assert_eq!(wait, due.map(Duration::from_millis), "seed {seed}: {one}");
            if wait.is_none() {
                counted[one].charge(now, costs[one]);
            }
        }
    }
    assert!(sent > 10 * CASES, "{sent} sent");
}

#[tokio::test(start_paused = true)]
async fn two_quotas_are_charged_once_each_for_what_was_sent_and_for_nothing_else() {
    two_quotas(Chances {
        most_cost: 1,
        late_refusals: false,
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn two_quotas_are_charged_what_was_sent_whatever_it_costs_and_however_late_the_rest_is_refused()
 {
    two_quotas(Chances {
        most_cost: 6,
        late_refusals: true,
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_gate_with_a_pace_is_charged_for_what_was_sent_and_has_every_place_in_the_end() {
    let chances = Chances {
        most_cost: 1,
        late_refusals: false,
    };
    let mut full = 0;
    for seed in 0..CASES {
        let limit = 1 + seed as usize % 3;
        let pace = per(1.0, 100.ms()).burst(4);
        let gate = GateLayer::new(limit).hold_head().pace(pace);
        let below = Below::new(seed);
        let handle = gate.handle();
        run(seed, chances, &gate.layer(below.clone()), &handle).await;
        let most = below.most.load(SeqCst);
        assert!(most <= limit, "{most} inside of {limit}");
        full += usize::from(most == limit);
        let mut counted = Counted::of(pace);
        for &(at, costs) in &*below.sent.lock().unwrap() {
            counted.charge(at, costs[0]);
        }
        let due = counted
            .full
            .checked_sub(below.millis())
            .filter(|wait| *wait > 0);
        let wait = Door::try_acquire(&handle, pace.bucket()).err();
        let wait = wait.map(|refused| refused.retry_after.unwrap());
        assert_eq!(wait, due.map(Duration::from_millis), "seed {seed}");
        handle.set_pace(None);
        let free = std::iter::from_fn(|| handle.try_acquire().ok()).take(limit + 1);
        assert_eq!(free.collect::<Vec<_>>().len(), limit);
    }
    assert!(full > 150, "{full} runs in which the limit was reached");
}
