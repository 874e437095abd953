//! The metrics of a stack through the [`metrics`](https://docs.rs/metrics) facade: limits, waits,
//! refusals, retries and the durations of requests.
//!
//! ```
//! use tidegate_governor::GovernorLayer;
//! use tidegate_metrics::Metrics;
//! use tidegate_classify::HttpClassifier;
//! use tidegate_retry::RetryLayer;
//! use tower::ServiceBuilder;
//!
//! # use std::time::Duration;
//! let metrics = Metrics::new("crawl"); // once a recorder is installed
//! let governor = GovernorLayer::new(HttpClassifier::default());
//! metrics.attach(&governor.handle());
//! let retry = RetryLayer::exponential(Duration::from_millis(100)..Duration::from_secs(5));
//!
//! let stack = ServiceBuilder::new()
//!     .layer(retry.observe(metrics.observer()))
//!     .layer(governor)
//!     .layer(metrics.requests())
//!     .service(()); // a client
//! # drop(stack);
//! ```
//!
//! # What there is
//!
//! | name | what | unit | labels |
//! |---|---|---|---|
//! | `tidegate.gate.limit` | gauge: how many may be in flight; what the law asks for where it is in shadow | | stack, key |
//! | `tidegate.gate.in_flight`, `.waiting` | gauges: how many are, and how many wait | | stack, key |
//! | `tidegate.gate.pace` | gauge, once there is one: how many may start, in the unit of its costs | per second | stack, key, pace.number |
//! | `tidegate.gate.pause` | gauge: for how long nobody is sent from now on, the longest where they are several; 0 without a pause | s | stack, key |
//! | `tidegate.gate.wait.duration` | histogram: of those that had to wait and were then sent | s | stack, key |
//! | `tidegate.gate.refused` | counter: never sent | | stack, key, reason |
//! | `tidegate.gate.outcomes` | counter, with a law: the answers that it hears of; one whose body fails later is heard of twice | | stack, key, outcome |
//! | `tidegate.rate.…` | the same of a rate, which has neither a limit nor anybody in flight | | |
//! | `tidegate.governor.setpoint` | gauge: the share of failures that it holds | 0 to 1 | stack, key |
//! | `tidegate.governor.failure_share` | gauge: that share among the answers, of which one with 200 later ones weighs 1/e of the last | 0 to 1 | stack, key |
//! | `tidegate.retry.attempts` | counter: retries that were decided on; one that a layer below then refuses is counted here and there | | stack |
//! | `tidegate.retry.gave_up` | counter: calls that ended with a failure that might have passed | | stack, reason |
//! | `http.client.request.duration` | histogram: of each attempt, up to the head of its response | s | see below |
//!
//! `stack` is `tidegate.stack`, and so on. Of several paces of one door the first has the number 0. A governor and a prober are gates. Reasons are `queue_full`,
//! `wait_too_long`, `waited_too_long`, `paused`, `no_room` and `closed`; those to give up `attempts`, `deadline`,
//! `budget`, `hint_too_long`, `may_be_processed`, `body_not_replayable`, `quota_exhausted`, `told_not_to`,
//! `refused`, and `_OTHER` for one that is not known here; outcomes `success`, `throttled`, `unavailable`,
//! `timed_out`, `connection`, `failure` and `ignored`.
//!
//! `http.client.request.duration` is that of [OpenTelemetry's semantic conventions][semconv], with
//! `http.request.method`, `server.address`, `server.port`, `http.response.status_code` and `error.type`,
//! beside the stack. A method that is not known is `_OTHER`, a status without a name that of its class;
//! `error.type` is a status from 400 on, or one of `throttled`, `unavailable`, `timed_out`, `connection`,
//! `_OTHER`, and `cancelled` where the caller gave up.
//!
//! Neither a path nor a query nor credentials is ever in a label.
//!
//! # How many label sets
//!
//! Each key and each host may be a label of its own as long as there are few:
//! [`top_keys`](Metrics::top_keys) have, and `other` is the rest of them. What a recorder has registered it
//! keeps; so a key that went away keeps its label, and its gauges are 0.
//!
//! # When it is there
//!
//! Waits, refusals, retries and durations at once. Outcomes and gauges whenever an event finds that they
//! are 100 ms old, and in full after [`refresh`](Metrics::refresh), for there is no task that would look:
//! without it, what is left of a pause stands still as long as nothing happens.
//!
//! # What is not there
//!
//! A request that waits for the worker of tower's `Buffer`, in its queue or since a service below is not ready
//! there, is at no door of ours yet: neither `waiting` nor `wait.duration` has it.
//!
//! # What it costs
//!
//! A request that need not wait at a gate: nothing. With a law: one addition, and a comparison of
//! times; about 8 ns. `Metrics::requests`: two readings of the clock and whatever the recorder does with a
//! duration, which are 77 of about 128 ns with Prometheus' exporter. A closure that records into one series
//! without labels takes 95, and one that makes the labels and asks the registry each time 408. No registry is
//! asked and nothing is allocated. See `benches/overhead.rs`.
//!
//! # With Prometheus
//!
//! The dashboard `docs/grafana/tidegate.json` wants the names and the buckets of
//! `PrometheusBuilder::new().with_recommended_naming(true).set_buckets(&SECONDS)?`. With these a dot is `_`,
//! and at the end counters have `_total`, durations and pauses `_seconds`, shares `_ratio` and paces
//! `_count_per_second`: `tidegate_gate_refused_total`, `http_client_request_duration_seconds_bucket`,
//! `tidegate_governor_setpoint_ratio`, `tidegate_gate_pace_count_per_second`. That exporter keeps each
//! duration until it is rendered, or until its `run_upkeep` is called: where nobody may scrape for hours, call
//! that from time to time.
//!
//! [semconv]: https://opentelemetry.io/docs/specs/semconv/http/http-metrics/#metric-httpclientrequestduration

mod clock;
mod durations;
mod gauges;
mod heat;
mod hosts;
mod key_observer;
mod kind;
mod layer;
mod metrics;
mod names;
mod outcomes;
mod refusals;
mod register;
mod response_future;
mod retries;
mod series;
mod service;
mod stack;
mod top;
mod watched;

pub use self::metrics::Metrics;
pub use layer::MeasureLayer;
pub use response_future::ResponseFuture;
pub use service::Measure;

/// Bounds of buckets for both kinds of durations, in seconds: those that OpenTelemetry's semantic
/// conventions advise for `http.client.request.duration`.
pub const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];
