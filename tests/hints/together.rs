//! Many that are told the same.

use std::time::Duration;

use futures_util::future::join_all;
use tidegate::{GateLayer, Profile, RateLayer, Units};
use tower::{Layer, ServiceExt};

use crate::{Server, answer, get};

/// Twenty are answered within a second, each of them with 600 s; then all come again at once.
macro_rules! twenty_come_back {
    ($layer:expr) => {{
        let server = Server::new();
        let service = $layer
            .longest_pause(600.s())
            .hints(Profile::Ietf)
            .layer(server.service(|_, nth| match nth {
                0..20 => (
                    50.ms() * (nth as u32 + 1),
                    answer(429, &[("retry-after", "600")]),
                ),
                _ => (1.ms(), answer(200, &[])),
            }));
        let callers = (0..20).map(|_| async {
            let first = service.clone().oneshot(get("/")).await.unwrap();
            assert_eq!(first.status(), 429);
            drop(first);
            service.clone().oneshot(get("/")).await.unwrap();
        });
        join_all(callers).await;
        let back = server.sends().split_off(20);
        assert!(back[0] >= 600.s(), "nobody is early: {back:?}");
        back
    }};
}

fn in_first_second(back: &[Duration]) -> usize {
    back.iter().filter(|at| **at < back[0] + 1.s()).count()
}

#[tokio::test(start_paused = true)]
async fn twenty_that_are_told_600_s_come_back_through_a_gate_each_in_a_millisecond_of_its_own() {
    for _ in 0..20 {
        let back = twenty_come_back!(GateLayer::new(20));
        let mut millis: Vec<_> = back.iter().map(Duration::as_millis).collect();
        millis.dedup();
        assert_eq!(millis.len(), 20);
        assert!(in_first_second(&back) <= 20);
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_that_are_told_600_s_come_back_at_most_the_burst_in_the_first_second() {
    for _ in 0..20 {
        let back = twenty_come_back!(RateLayer::per_second(100.0).burst(20));
        assert!(in_first_second(&back) <= 20, "{back:?}");
    }
}
