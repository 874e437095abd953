//! Several quotas behind one host.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use http::Request;
use tidegate::{GateLayer, KeyedLayer, Profile, Units};
use tokio::time::timeout;
use tower::{Layer, ServiceExt};

use crate::{Body, Server, answer, get};

/// 21 October 2015, 00:00:00.
const EPOCH: u64 = 1_445_385_600;

/// So many in each window.
#[derive(Debug)]
struct Meter {
    name: &'static str,
    limit: u64,
    window: u64,
    current: u64,
    used: u64,
    refused: u64,
    served: u64,
}

impl Meter {
    fn new(name: &'static str, limit: u64, window: u64) -> Self {
        Self {
            name,
            limit,
            window,
            current: 0,
            used: 0,
            refused: 0,
            served: 0,
        }
    }

    fn answer(&mut self, at: u64) -> http::Response<Body> {
        if at / self.window != self.current {
            (self.current, self.used) = (at / self.window, 0);
        }
        self.used += 1;
        let over = self.used > self.limit;
        *(if over {
            &mut self.refused
        } else {
            &mut self.served
        }) += 1;
        let (hours, minutes, seconds) = (at / 3_600, at / 60 % 60, at % 60);
        let number = |number: u64| number.to_string();
        answer(
            if over { 403 } else { 200 },
            &[
                (
                    "date",
                    &format!("Wed, 21 Oct 2015 {hours:02}:{minutes:02}:{seconds:02} GMT"),
                ),
                ("x-ratelimit-resource", self.name),
                ("x-ratelimit-limit", &number(self.limit)),
                (
                    "x-ratelimit-remaining",
                    &number(self.limit.saturating_sub(self.used)),
                ),
                (
                    "x-ratelimit-reset",
                    &number(EPOCH + (self.current + 1) * self.window),
                ),
            ],
        )
    }
}

/// Which of them a request belongs to: the service says so in its documentation, and in each response.
fn resource(request: &Request<Body>) -> &'static str {
    match request.uri().path() {
        path if path.starts_with("/search/code") => "code_search",
        path if path.starts_with("/search/") => "search",
        _ => "core",
    }
}

#[tokio::test(start_paused = true)]
async fn three_quotas_behind_one_host_are_each_used_up_and_none_is_passed() {
    let server = Server::new();
    let clock = server.clone();
    let meters = Arc::new(Mutex::new([
        Meter::new("core", 5_000, 3_600),
        Meter::new("search", 30, 60),
        Meter::new("code_search", 10, 60),
    ]));
    let at_server = Arc::clone(&meters);
    let stack = KeyedLayer::new(
        |request: &Request<Body>| resource(request).to_owned(),
        |_| {
            GateLayer::new(10)
                .hints(Profile::GitHub)
                .longest_pause(3_600.s())
        },
    )
    .layer(server.service(move |path, _| {
        let which = match path {
            "/search/code" => 2,
            "/search/issues" => 1,
            _ => 0,
        };
        let at = clock.at().as_secs();
        (50.ms(), at_server.lock().unwrap()[which].answer(at))
    }));
    let callers = ["/repos/a/b", "/search/issues", "/search/code"].map(|path| {
        join_all((0..20).map(|_| {
            let stack = stack.clone();
            async move {
                loop {
                    drop(stack.clone().oneshot(get(path)).await.unwrap());
                }
            }
        }))
    });
    let hour = Duration::from_millis(3_599_900);
    assert!(timeout(hour, join_all(callers)).await.is_err());
    let meters = meters.lock().unwrap();
    let refused = meters.each_ref().map(|meter| meter.refused);
    assert_eq!(refused, [0, 0, 0]);
    let counts = meters.each_ref().map(|meter| meter.served);
    assert_eq!(counts, [5_000, 60 * 30, 60 * 10]);
}
