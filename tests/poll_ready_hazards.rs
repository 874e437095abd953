//! What goes wrong where a limit reserves a place in `poll_ready`, as tower's `ConcurrencyLimit`
//! does. The same program runs over that, where it hangs or fails, and over a gate, which reserves
//! nothing before its future is polled.

mod support;

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Ready, join, join_all, ready};
use tidegate::{BoxError, GateLayer, RefusedReason, Units};
use tokio::time::{sleep, timeout};
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::error::Overloaded;
use tower::retry::{Policy, RetryLayer};
use tower::timeout::TimeoutLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::{assert_free, now};

/// For ever, as far as these programs are concerned.
const HOUR: Duration = Duration::from_secs(3_600);

/// Works for as long as the request says.
fn work() -> impl Service<Duration, Response = (), Error = io::Error, Future: Send> + Clone {
    tower::service_fn(async |takes| {
        sleep(takes).await;
        Ok(())
    })
}

/// When it was over, if it ever was.
async fn ends<F: Future>(program: F) -> Option<Duration> {
    let started = now();
    timeout(HOUR, program).await.ok()?;
    Some(now() - started)
}

/// A clone is ready, and its owner has nothing to send.
async fn call_beside_an_idle_ready_clone<S>(stack: S) -> Option<Duration>
where
    S: Service<Duration, Error: Debug> + Clone,
{
    let mut idle = stack.clone();
    idle.ready().await.unwrap();
    ends(stack.oneshot(10.ms())).await
}

#[tokio::test(start_paused = true)]
async fn an_idle_ready_clone_does_not_starve_the_others() {
    let towers = ConcurrencyLimitLayer::new(1).layer(work());
    assert_eq!(call_beside_an_idle_ready_clone(towers).await, None);

    let gate = GateLayer::new(1).hold_head();
    let ended = call_beside_an_idle_ready_clone(gate.layer(work())).await;
    assert_eq!(ended, Some(10.ms()));
    assert_free(&gate.handle(), 1);
}

/// All are to be ready before the first calls.
async fn call_three_clones_once_all_are_ready<S>(stack: S) -> Option<Duration>
where
    S: Service<Duration, Error: Debug> + Clone,
{
    let mut clones = [stack.clone(), stack.clone(), stack];
    ends(async {
        join_all(clones.iter_mut().map(ServiceExt::ready)).await;
        join_all(clones.iter_mut().map(|clone| clone.call(10.ms()))).await
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn more_clones_than_places_can_all_be_ready() {
    let towers = ConcurrencyLimitLayer::new(2).layer(work());
    assert_eq!(call_three_clones_once_all_are_ready(towers).await, None);

    let gate = GateLayer::new(2).hold_head();
    let ended = call_three_clones_once_all_are_ready(gate.layer(work())).await;
    assert_eq!(ended, Some(20.ms()));
    assert_free(&gate.handle(), 2);
}

/// One is sent, a second is shed, the first ends; what then becomes of a third, and of a fourth an
/// hour later.
async fn shed_one_and_try_again_with_nothing_in_flight<S>(stack: S) -> [Result<(), BoxError>; 3]
where
    S: Service<Duration, Response = (), Error = BoxError> + Clone,
{
    let first = stack.clone().oneshot(10.ms());
    let mut second_client = stack.clone();
    let second = async {
        sleep(5.ms()).await;
        second_client.ready().await?.call(10.ms()).await
    };
    let (first, second) = join(first, second).await;
    first.unwrap();
    let third = stack.clone().oneshot(10.ms()).await;
    sleep(HOUR).await;
    let fourth = stack.oneshot(10.ms()).await;
    drop(second_client);
    [second, third, fourth]
}

#[tokio::test(start_paused = true)]
async fn what_was_shed_does_not_take_the_next_place() {
    let towers = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .service(work());
    for outcome in shed_one_and_try_again_with_nothing_in_flight(towers).await {
        assert!(outcome.unwrap_err().is::<Overloaded>());
    }

    let gate = GateLayer::new(1).max_queue(0).hold_head();
    let stack = gate.layer(work()).map_err(BoxError::from);
    let [second, third, fourth] = shed_one_and_try_again_with_nothing_in_flight(stack).await;
    let second = tidegate::Error::service(second.unwrap_err());
    let reason = &second.refused().unwrap().reason;
    assert_eq!(*reason, RefusedReason::QueueFull { max_queue: 0 });
    assert!(third.is_ok() && fourth.is_ok());
    assert_free(&gate.handle(), 1);
}

/// Sends everything twice.
#[derive(Clone)]
struct Twice(u32);

impl<R, E> Policy<Duration, R, E> for Twice {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Duration, _: &mut Result<R, E>) -> Option<Ready<()>> {
        self.0 += 1;
        (self.0 < 2).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Duration) -> Option<Duration> {
        Some(*request)
    }
}

/// While the first request is on its way, the client gets ready for its next.
async fn retry_while_the_front_gets_ready_again<S>(stack: S) -> Option<Duration>
where
    S: Service<Duration, Error: Debug> + Clone,
{
    let mut front = RetryLayer::new(Twice(0)).layer(stack);
    ends(async {
        let first = front.ready().await.unwrap().call(10.ms());
        let (first, again) = join(first, front.ready()).await;
        first.unwrap();
        again.unwrap().call(10.ms()).await
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_retry_does_not_wait_for_its_own_front() {
    let towers = ConcurrencyLimitLayer::new(1).layer(work());
    assert_eq!(retry_while_the_front_gets_ready_again(towers).await, None);

    let gate = GateLayer::new(1).hold_head();
    let ended = retry_while_the_front_gets_ready_again(gate.layer(work())).await;
    assert_eq!(ended, Some(40.ms()));
    assert_free(&gate.handle(), 1);
}

/// The only place is taken for ten seconds; when does one who has 100 ms hear that it got none?
async fn wait_behind_ten_seconds_with_a_timeout_of_100_ms<S>(stack: S) -> Option<Duration>
where
    S: Service<Duration, Response = (), Error: Into<BoxError> + Debug> + Clone,
{
    let holder = stack.clone().oneshot(10.s());
    let stack = TimeoutLayer::new(100.ms()).layer(stack);
    let waiter = ends(async {
        // Behind the holder.
        tokio::task::yield_now().await;
        stack.oneshot(1.s()).await.unwrap_err()
    });
    let (holder, heard) = join(holder, waiter).await;
    holder.unwrap();
    heard
}

#[tokio::test(start_paused = true)]
async fn a_timeout_covers_the_wait() {
    let towers = ConcurrencyLimitLayer::new(1).layer(work());
    let heard = wait_behind_ten_seconds_with_a_timeout_of_100_ms(towers).await;
    assert_eq!(heard, Some(10_100.ms()));

    let gate = GateLayer::new(1).hold_head();
    let heard = wait_behind_ten_seconds_with_a_timeout_of_100_ms(gate.layer(work())).await;
    assert_eq!(heard, Some(100.ms()));
    assert_free(&gate.handle(), 1);
}

/// One gives up waiting, and keeps its clone for later.
async fn call_beside_a_clone_whose_owner_gave_up<S>(stack: S) -> Option<Duration>
where
    S: Service<Duration, Error: Debug> + Clone,
{
    let holder = stack.clone().oneshot(50.ms());
    let mut kept = stack.clone();
    let gave_up = async {
        // Behind the holder.
        tokio::task::yield_now().await;
        let one = async { kept.ready().await.unwrap().call(10.ms()).await };
        assert!(timeout(20.ms(), one).await.is_err());
    };
    let (holder, ()) = join(holder, gave_up).await;
    holder.unwrap();
    ends(stack.oneshot(10.ms())).await
}

#[tokio::test(start_paused = true)]
async fn one_who_gave_up_waiting_takes_no_place_later() {
    let towers = ConcurrencyLimitLayer::new(1).layer(work());
    assert_eq!(call_beside_a_clone_whose_owner_gave_up(towers).await, None);

    let gate = GateLayer::new(1).hold_head();
    let ended = call_beside_a_clone_whose_owner_gave_up(gate.layer(work())).await;
    assert_eq!(ended, Some(10.ms()));
    assert_free(&gate.handle(), 1);
}

/// What corresponds to a clone that waits and is kept is a future that waits and is kept.
#[tokio::test(start_paused = true)]
async fn a_waiting_future_that_nobody_polls_again_is_passed_over() {
    let gate = GateLayer::new(1).hold_head();
    let stack = gate.layer(work());
    let mut holder = Box::pin(stack.clone().oneshot(50.ms()));
    let mut kept = Box::pin(stack.clone().oneshot(10.ms()));
    assert!(holder.as_mut().now_or_never().is_none());
    assert!(kept.as_mut().now_or_never().is_none());

    let (holder, ended) = join(holder, ends(stack.oneshot(10.ms()))).await;
    holder.unwrap();
    // The holder's 50 ms, 100 to 150 ms of patience, its own 10 ms.
    let ended = ended.expect("it does not hang");
    assert!((160.ms()..=210.ms()).contains(&ended), "{ended:?}");
    assert_eq!(ends(kept).await, Some(10.ms()));
    assert_free(&gate.handle(), 1);
}
