//! Many that are told the same.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use http::Request;
use tidegate::{GateLayer, KeyedLayer, Profile, RateLayer, Units};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{Body, Server, answer, get};

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

/// Two clients, 16 tasks, each twice a second to each of two hosts, one of which says 30 s once.
#[tokio::test(start_paused = true)]
async fn a_wait_that_one_caller_is_told_holds_all_of_its_host_and_nobody_elsewhere() {
    let (told, other) = (Server::new(), Server::new());
    let mut quiet = told.service(|_, nth| match nth {
        16 => (20.ms(), answer(429, &[("retry-after", "30")])),
        _ => (20.ms(), answer(200, &[])),
    });
    let mut busy = other.service(|_, _| (20.ms(), answer(200, &[])));
    let both = service_fn(move |request: Request<Body>| match request.uri().host() {
        Some("told.example") => quiet.call(request).boxed(),
        _ => busy.call(request).boxed(),
    });
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(10).hints(Profile::Ietf));
    let clients = [keyed.layer(both.clone()), keyed.layer(both)];
    let tasks = (0..16).flat_map(|task| {
        ["http://told.example/", "http://other.example/"].map(|uri| {
            let client = clients[task % 2].clone();
            async move {
                loop {
                    drop(client.clone().oneshot(get(uri)).await.unwrap());
                    sleep(500.ms()).await;
                }
            }
        })
    });
    assert!(timeout(60.s(), join_all(tasks)).await.is_err());
    let sends = told.sends();
    let hint = sends[16] + 20.ms();
    let meanwhile = sends
        .iter()
        .filter(|at| **at > hint && **at < hint + 30.s());
    assert_eq!(meanwhile.count(), 0);
    assert!(sends.last().unwrap() > &50.s());
    let per_task = other.sends().len() / 16;
    assert!((110..=120).contains(&per_task), "{per_task}");
}
