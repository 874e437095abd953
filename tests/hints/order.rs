//! Answers that come in another order than the requests were counted in.

use std::time::Duration;

use futures_util::future::join_all;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tidegate::{GateLayer, Profile, Units};
use tower::{Layer, ServiceExt};

use crate::{Server, answer, get};

const QUOTA: u64 = 30;
const WINDOW: u64 = 60;
/// 21 October 2015, 07:28:00.
const EPOCH: u64 = 1_445_412_480;

/// A quota of 30 a minute, whose answers take from 1 to 900 ms.
struct Quota {
    window: u64,
    used: u64,
    rng: Xoshiro256PlusPlus,
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_used_up_and_never_passed_in_whatever_order_its_answers_come() {
    for seed in 0..50 {
        let server = Server::new();
        let clock = server.clone();
        let mut quota = Quota {
            window: 0,
            used: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        let service = GateLayer::new(10)
            .hints(Profile::GitHub)
            .layer(server.service(move |_, _| {
                let at = clock.at().as_secs();
                if at / WINDOW != quota.window {
                    (quota.window, quota.used) = (at / WINDOW, 0);
                }
                quota.used += 1;
                let over = quota.used > QUOTA;
                let remaining = QUOTA.saturating_sub(quota.used).to_string();
                let reset = (EPOCH + (quota.window + 1) * WINDOW).to_string();
                let date = httpdate(at);
                let headers = [
                    ("date", date.as_str()),
                    ("x-ratelimit-limit", "30"),
                    ("x-ratelimit-remaining", &remaining),
                    ("x-ratelimit-reset", &reset),
                ];
                let after = Duration::from_millis(quota.rng.random_range(1..900));
                (after, answer(if over { 429 } else { 200 }, &headers))
            }));
        let callers = (0..100).map(|_| async {
            let response = service.clone().oneshot(get("/")).await.unwrap();
            assert_eq!(response.status(), 200, "seed {seed}: {:?}", server.at());
        });
        join_all(callers).await;
        let sends = server.sends();
        for window in 0..3 {
            let within = |at: &&Duration| at.as_secs() / WINDOW == window;
            assert_eq!(
                sends.iter().filter(within).count() as u64,
                QUOTA,
                "seed {seed}"
            );
        }
        assert!(server.at() < 190.s());
    }
}

fn httpdate(at: u64) -> String {
    let (minutes, seconds) = (28 + at / 60, at % 60);
    format!("Wed, 21 Oct 2015 07:{minutes:02}:{seconds:02} GMT")
}
