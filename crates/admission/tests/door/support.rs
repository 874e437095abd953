//! What the tests share.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tidegate_admission::{Acquire, Door, Permit};
use tidegate_core::Refused;
use tokio::time::Instant;

/// The one place where these tests read a clock.
#[expect(clippy::disallowed_methods, reason = "the clock of the tests")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Real time: a test that somebody waits for has to get there before the wait is over. It is tried with
/// waits that are longer and longer, and says whether it got there.
pub(crate) fn with_time_enough(test: impl Fn(u32) -> bool) {
    let got_there = [1, 4, 16].into_iter().any(test);
    assert!(got_there, "nobody was seen to wait for seconds");
}

/// Writes down when something happened, in milliseconds since it was made.
#[derive(Clone)]
pub(crate) struct Log {
    origin: Instant,
    times: Arc<Mutex<Vec<u64>>>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            origin: now(),
            times: Arc::default(),
        }
    }

    pub(crate) fn at(&self) -> u64 {
        u64::try_from((now() - self.origin).as_millis()).unwrap()
    }

    pub(crate) fn note(&self) {
        let at = self.at();
        self.times.lock().unwrap().push(at);
    }

    pub(crate) fn times(&self) -> Vec<u64> {
        self.times.lock().unwrap().clone()
    }
}

/// One poll, by somebody whom no wake-up reaches.
pub(crate) fn poll_once(acquire: &mut Acquire) -> Poll<Result<Permit, Refused>> {
    poll_with(acquire, Waker::noop())
}

pub(crate) fn poll_with(acquire: &mut Acquire, waker: &Waker) -> Poll<Result<Permit, Refused>> {
    Pin::new(acquire).poll(&mut Context::from_waker(waker))
}

/// The oracle of capacity: nobody is inside or waits, and exactly `limit` can enter.
#[track_caller]
pub(crate) fn assert_free(door: &Door, limit: usize) {
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
    let all: Vec<_> = (0..=limit)
        .map_while(|_| door.try_acquire(0).ok())
        .collect();
    assert_eq!(all.len(), limit, "places that are free");
    drop(all);
    assert_eq!(door.in_flight(), 0);
}

/// Waits on this thread, without any runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn waker() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Self::default());
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A future that counts its polls.
pub(crate) struct Polls<F> {
    future: F,
    pub(crate) count: usize,
}

impl<F> Polls<F> {
    pub(crate) fn of(future: F) -> Self {
        Self { future, count: 0 }
    }
}

impl<F: Future + Unpin> Future for Polls<F> {
    type Output = (F::Output, usize);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.count += 1;
        let count = self.count;
        Pin::new(&mut self.future)
            .poll(context)
            .map(|output| (output, count))
    }
}
