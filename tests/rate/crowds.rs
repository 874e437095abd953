//! Ten thousand that wait: how often they are called, and what else has its turn meanwhile.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use tidegate::{RateLayer, Units, per_second, strict};
use tokio::task::yield_now;
use tokio::time::interval;
use tower::{Layer, ServiceExt};

use crate::{Sends, now};

const CALLERS: usize = 10_000;

/// How often a future was polled and woken, and how often all of them were polled.
#[derive(Clone, Debug)]
struct Calls {
    polls: Arc<AtomicUsize>,
    wakes: Arc<AtomicUsize>,
    of_all: Arc<AtomicUsize>,
}

impl Calls {
    fn of(of_all: &Arc<AtomicUsize>) -> Self {
        Self {
            polls: Arc::default(),
            wakes: Arc::default(),
            of_all: Arc::clone(of_all),
        }
    }

    async fn count<F: Future>(self, future: F) -> F::Output {
        let mut future = Box::pin(future);
        poll_fn(move |context| self.poll(future.as_mut(), context)).await
    }

    fn poll<F: Future>(&self, future: Pin<&mut F>, context: &Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, SeqCst);
        self.of_all.fetch_add(1, SeqCst);
        let waker = Waker::from(Arc::new(Counting {
            wakes: Arc::clone(&self.wakes),
            waker: context.waker().clone(),
        }));
        future.poll(&mut Context::from_waker(&waker))
    }
}

struct Counting {
    wakes: Arc<AtomicUsize>,
    waker: Waker,
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, SeqCst);
        self.waker.wake_by_ref();
    }
}

/// What became of a crowd.
#[derive(Debug)]
struct Crowd {
    sends: Sends,
    /// In all, and of the one with most.
    polls: [usize; 2],
    wakes: [usize; 2],
    /// The most polls of all of them together between two turns of a task that wants one each
    /// millisecond.
    polls_in_a_turn: usize,
}

impl Crowd {
    /// A crowd that has come to a rate.
    async fn at(rate: RateLayer) -> Self {
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        let of_all = Arc::default();
        let calls: Vec<_> = (0..CALLERS).map(|_| Calls::of(&of_all)).collect();
        let start = |calls: &Calls| {
            let call = service.clone().oneshot(1);
            tokio::spawn(calls.clone().count(call))
        };
        let tasks: Vec<_> = calls.iter().map(start).collect();
        while of_all.load(SeqCst) < CALLERS {
            yield_now().await;
        }
        let polls_in_a_turn = most_between_turns(&of_all, || sends.count() == CALLERS).await;
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let counts = |count: fn(&Calls) -> usize| {
            let counts = calls.iter().map(count);
            [counts.clone().sum(), counts.max().unwrap()]
        };
        Self {
            polls: counts(|calls| calls.polls.load(SeqCst)),
            wakes: counts(|calls| calls.wakes.load(SeqCst)),
            polls_in_a_turn,
            sends,
        }
    }
}

/// A task that wants its turn each millisecond, and gets it, until then: how many polls of others it
/// waited for at most.
async fn most_between_turns(polls: &AtomicUsize, done: impl Fn() -> bool) -> usize {
    let mut turns = interval(1.ms());
    let mut due = turns.tick().await;
    let (mut before, mut most) = (polls.load(SeqCst), 0);
    while !done() {
        turns.tick().await;
        due += 1.ms();
        assert_eq!(now(), due);
        let polls = polls.load(SeqCst);
        most = most.max(polls - before);
        before = polls;
    }
    most
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_behind_a_hundred_a_second_are_woken_once_each_and_one_in_a_millisecond() {
    let crowd = Crowd::at(RateLayer::per_second(100.0)).await;
    let even: Vec<_> = (0..CALLERS as u128).map(|call| call * 10).collect();
    assert_eq!(crowd.sends.millis(), even);
    // The first did not wait.
    assert_eq!(crowd.wakes, [CALLERS - 1, 1]);
    assert_eq!(crowd.polls, [2 * CALLERS - 1, 2]);
    assert_eq!(crowd.polls_in_a_turn, 1);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_in_a_pause_are_woken_once_each_and_no_more_at_its_end_than_may_go() {
    for (pace, at_once, in_a_second, last) in [
        (per_second(100.0).burst(50), 50, 149, 99_500),
        (strict(100, 1.s()), 100, 100, 99_000),
    ] {
        let rate = RateLayer::new(pace);
        rate.handle().pause_until((now() + 30.s()).into_std());
        let crowd = Crowd::at(rate).await;
        let millis = crowd.sends.millis();
        assert_eq!(millis[..at_once], vec![30_000; at_once]);
        assert!(millis[at_once] > 30_000);
        assert_eq!(millis[CALLERS - 1], 30_000 + last);
        assert_eq!(crowd.sends.most_in(1.s()), in_a_second);
        assert_eq!(crowd.wakes, [CALLERS, 1]);
        assert_eq!(crowd.polls, [2 * CALLERS, 2]);
        assert_eq!(crowd.polls_in_a_turn, at_once);
    }
}
