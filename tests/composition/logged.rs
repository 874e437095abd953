//! What a whole stack says while its upstream is overloaded.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use tidegate::{Events, GovernorLayer, HttpClassifier, KeyedLayer, RetryLayer, SpanLayer, Units};
use tidegate_testkit::{Fixed, Upstream};
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer as Listener, SubscriberExt};

use crate::support::now;

#[derive(Clone)]
struct Heard(Arc<Mutex<All>>);

struct All {
    started: Instant,
    /// At info and above, in each second.
    loud: BTreeMap<u64, u32>,
    /// In the summaries.
    refused: u64,
    /// How often each thing was said.
    said: BTreeMap<String, u64>,
    spans: u64,
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        assert!(!value.contains("secret"), "{value}");
        self.0.insert(field.name(), value);
    }
}

impl<S: Subscriber> Listener<S> for Heard {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let all = &mut *self.0.lock().unwrap();
        if *event.metadata().level() <= Level::INFO {
            let second = (now() - all.started).as_secs();
            *all.loud.entry(second).or_default() += 1;
        }
        let refused = fields
            .0
            .get("refused")
            .and_then(|refused| refused.parse().ok());
        all.refused += refused.unwrap_or(0_u64);
        let message = fields.0.remove("message").unwrap();
        *all.said.entry(message).or_default() += 1;
        if let Some(reason) = fields.0.get("limit_before").and(fields.0.get("reason")) {
            assert!(!reason.is_empty());
        }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        attributes.record(&mut Fields::default());
        if attributes.metadata().target() == "tidegate" {
            assert_eq!(*attributes.metadata().level(), Level::DEBUG);
            self.0.lock().unwrap().spans += 1;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_10_000_requests_in_10_s_at_most_two_lines_a_second_are_loud_and_all_refusals_are_counted()
 {
    let heard = Heard(Arc::new(Mutex::new(All {
        started: now(),
        loud: BTreeMap::new(),
        refused: 0,
        said: BTreeMap::new(),
        spans: 0,
    })));
    let subscriber = tracing_subscriber::registry().with(heard.clone());
    let _listening = tracing::subscriber::set_default(subscriber);

    let upstream = Upstream::workers(4)
        .queue(4)
        .service_time(Fixed(50.ms()))
        .start_in_process();
    let events = Events::new("crawl").every(1.s());
    let retry = RetryLayer::exponential(50.ms()..1.s()).observe(events.observer());
    let keyed = KeyedLayer::per_host(move |host| {
        let governor = GovernorLayer::new(HttpClassifier::default()).max_queue(5);
        events.key(host).attach(&governor.handle());
        governor
    });
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new())
        .layer(retry)
        .layer(keyed)
        .service(upstream.direct());
    let calls = (0..10_000_u64).map(|nth| {
        let stack = stack.clone();
        async move {
            sleep(nth.ms()).await;
            let uri = format!("http://host-{}.test/?token=secret", nth % 10);
            let request = Request::get(uri).body(Full::<Bytes>::default()).unwrap();
            if let Ok(response) = stack.oneshot(request).await {
                let _ = response.into_body().collect().await;
            }
        }
    });
    join_all(calls).await;
    drop(stack);

    let all = heard.0.lock().unwrap();
    assert!(all.loud.values().all(|lines| *lines <= 2), "{:?}", all.loud);
    let said = |message: &str| all.said.get(message).copied().unwrap_or(0);
    assert_eq!(all.refused, said("refused, nothing was sent"));
    assert_eq!(all.spans, 10_000);
    // All of it happened.
    for message in [
        "moved",
        "waited",
        "tries again",
        "no success",
        "refused, nothing was sent",
    ] {
        assert!(said(message) > 50, "{message}: {:?}", all.said);
    }
}
