//! Two adaptive limits on top of each other are worse than one.

use futures_util::future::join;
use tidegate::Units;
use tidegate_testkit::{Exponential, Upstream};
use tokio::runtime::Builder;
use tokio::time::sleep;
use tower::Layer;

use crate::ground::{Route, crowd, prober};
use crate::history::History;

/// Successes per second in the 5 s after the way to 16 workers of 20 ms became 90 ms longer.
fn far_away(seed: u64, two: bool) -> f64 {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let upstream = Upstream::workers(16).queue(16).seed(seed);
        let upstream = upstream
            .service_time(Exponential(20.ms()))
            .start_in_process();
        let route = Route::to(&upstream, 10.ms());
        let layer = prober();
        let history = History::of(&layer.handle());
        let stack = layer.layer(route.clone());
        let further = async {
            sleep(10.s()).await;
            route.set(100.ms());
        };
        if two {
            join(crowd(96, &prober().layer(stack), 15.s()), further).await;
        } else {
            join(crowd(96, &stack, 15.s()), further).await;
        }
        history.goodput(10.0, 15.0)
    })
}

/// With 96 in flight all workers work. To the outer one what waits at the inner one looks like a queue
/// of the service, and the inner one, never all in use, does not grow.
#[test]
fn after_a_change_of_the_way_two_probers_send_less_than_one() {
    let sum = |two| (0..8).map(|seed| far_away(seed, two)).sum::<f64>();
    let (one, two) = (sum(false), sum(true));
    assert!(two < 0.95 * one, "{two} {one}");
}
