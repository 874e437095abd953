//! What a rate does with requests, through the layer.

#[path = "../support/loopback.rs"]
mod loopback;

mod basics;
mod clones;
mod costs;
mod crowds;
mod model;
mod quotas;
mod refusals;
mod slow;
mod stacks;
mod strict;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tower::{Service, service_fn};

#[expect(
    clippy::disallowed_methods,
    reason = "the clock of the tests, which they pause"
)]
fn now() -> Instant {
    Instant::now()
}

/// When each request was sent.
#[derive(Clone, Debug)]
struct Sends {
    origin: Instant,
    times: Arc<Mutex<Vec<(Duration, u32)>>>,
}

impl Sends {
    fn new() -> Self {
        Self {
            origin: now(),
            times: Arc::default(),
        }
    }

    /// A service that answers at once, and costs what it is sent.
    fn service(
        &self,
    ) -> impl Service<u32, Response = u32, Error = io::Error, Future: Send> + Clone + Send + use<>
    {
        let sends = self.clone();
        service_fn(move |cost| {
            sends.note(cost);
            async move { Ok(cost) }
        })
    }

    fn note(&self, cost: u32) {
        let at = now() - self.origin;
        self.times.lock().unwrap().push((at, cost));
    }

    fn all(&self) -> Vec<(Duration, u32)> {
        self.times.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.times.lock().unwrap().len()
    }

    fn millis(&self) -> Vec<u128> {
        self.all().iter().map(|(at, _)| at.as_millis()).collect()
    }

    /// The most that is sent in a window that begins with a request, its end not included.
    fn most_in(&self, window: Duration) -> u64 {
        let all = self.all();
        let mut most = 0;
        let (mut sum, mut end) = (0, 0);
        for &(from, cost) in &all {
            while let Some(&(_, cost)) = all.get(end).filter(|(at, _)| *at < from + window) {
                sum += u64::from(cost);
                end += 1;
            }
            most = most.max(sum);
            sum -= u64::from(cost);
        }
        most
    }
}
