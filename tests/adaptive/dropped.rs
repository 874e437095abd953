//! A layer, its services, handles, calls, bodies and observers, dropped in every order.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt;
use http::Response;
use http_body_util::Full;
use tidegate::{Change, HttpClassifier, Observer, Sample, Steer};
use tokio::runtime::Handle;
use tower::{Layer, ServiceExt, service_fn};

use crate::each_layer;
use crate::ground::get;

/// Tells by its life how long the layer lives.
#[derive(Debug)]
struct Buoy;

impl Observer for Buoy {
    fn on_sample(&self, _now: Instant, _sample: &Sample) {}

    fn on_change(&self, _now: Instant, _change: &Change) {}
}

/// All orders of so many things.
fn orders(things: usize) -> Vec<Vec<usize>> {
    if things == 0 {
        return vec![Vec::new()];
    }
    let with_last_at = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, things - 1);
        order
    };
    let shorter = orders(things - 1);
    let longer = shorter
        .iter()
        .flat_map(|order| (0..things).map(move |at| with_last_at(order, at)));
    longer.collect()
}

#[tokio::test(start_paused = true)]
async fn in_every_order_nothing_is_left() {
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert_eq!(orders(6).len(), 720);
    each_layer!(Layer, name => {
        for order in orders(6) {
            let layer = Layer::new(HttpClassifier::default()).min(2).max(2);
            let handle = layer.handle();
            let buoy = Arc::new(Buoy);
            let floats: Weak<Buoy> = Arc::downgrade(&buoy);
            handle.observe(buoy);
            let stack = layer.layer(service_fn(async |request: http::Request<_>| {
                if request.uri().path() == "/never" {
                    std::future::pending::<()>().await;
                }
                Ok::<_, io::Error>(Response::new(Full::<Bytes>::from("tide")))
            }));
            let response = stack.clone().oneshot(get("/")).await.unwrap();
            let mut sent = Box::pin(stack.clone().oneshot(get("/never")));
            assert!((&mut sent).now_or_never().is_none());
            let mut waiting = Box::pin(stack.clone().oneshot(get("/")));
            assert!((&mut waiting).now_or_never().is_none());
            assert_eq!((handle.in_flight(), handle.waiting()), (2, 1));

            let mut things: Vec<Option<Box<dyn Send>>> = vec![
                Some(Box::new(layer)),
                Some(Box::new(handle)),
                Some(Box::new(stack)),
                Some(Box::new(response)),
                Some(Box::new(sent)),
                Some(Box::new(waiting)),
            ];
            for thing in &order {
                assert!(floats.upgrade().is_some(), "{name}: {order:?}");
                things[*thing] = None;
            }
            assert!(floats.upgrade().is_none(), "{name}: {order:?}");
        }
    });
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}
