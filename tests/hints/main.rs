//! What layers do with what a service says about its limits: by the times at which requests are sent, on
//! a virtual clock.

mod bodies;
mod laws;
mod order;
mod resources;
#[path = "../support/mod.rs"]
mod support;
mod together;
mod traps;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use tokio::time::{Instant, sleep};
use tower::{Service, service_fn};

use crate::support::now;

type Body = Empty<Bytes>;

fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Empty::new()).expect("a request")
}

fn answer(status: u16, headers: &[(&str, &str)]) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Empty::new()).expect("a response")
}

/// What a server received, and what it answered.
#[derive(Clone, Debug)]
struct Server {
    origin: Instant,
    sends: Arc<Mutex<Vec<Duration>>>,
}

impl Server {
    fn new() -> Self {
        Self {
            origin: now(),
            sends: Arc::default(),
        }
    }

    fn at(&self) -> Duration {
        now() - self.origin
    }

    /// When each request was sent.
    fn sends(&self) -> Vec<Duration> {
        self.sends.lock().unwrap().clone()
    }

    /// Answers so the nth request of that path, after that time.
    fn service<F>(
        &self,
        respond: F,
    ) -> impl Service<Request<Body>, Response = Response<Body>, Error = io::Error, Future: Send>
    + Clone
    + Send
    + use<F>
    where
        F: FnMut(&str, usize) -> (Duration, Response<Body>) + Send + 'static,
    {
        let (server, respond) = (self.clone(), Arc::new(Mutex::new(respond)));
        service_fn(move |request: Request<Body>| {
            let at = server.at();
            let mut sends = server.sends.lock().unwrap();
            sends.push(at);
            let nth = sends.len() - 1;
            drop(sends);
            let (after, response) = respond.lock().unwrap()(request.uri().path(), nth);
            async move {
                sleep(after).await;
                Ok(response)
            }
        })
    }
}
