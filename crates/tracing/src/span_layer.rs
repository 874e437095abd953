use tower_layer::Layer;

use crate::Spanned;

/// One span for each request, at debug, with how long it waited.
///
/// Outside of a retry it is the span of a call: all its attempts, and the waits of all. Between the retry
/// and what is below it is that of one attempt. It may stand in both places.
///
/// | field | when | |
/// |---|---|---|
/// | `otel.kind`, `otel.name` | | `client`, the method |
/// | `http.request.method` | | `_OTHER` for one that is not known |
/// | `server.address`, `server.port` | | the host, and the port or that of the scheme |
/// | `http.request.resend_count` | sent again | below a retry, which time this is; above one, how often: see below |
/// | `http.response.status_code` | answered | where a retry let the last response go, that one's |
/// | `error.type` | failed | a status of 400 or more, `throttled`, `unavailable`, `timed_out`, `connection`, `refused`, `cancelled`, or `_OTHER` |
/// | `tidegate.gave_up` | a retry [gave up](tidegate_retry::GaveUp) | [why](tidegate_retry::GaveUpReason::name): `budget`, `deadline`, `refused` and the like |
/// | `tidegate.refused_by`, `tidegate.refused_because` | refused, or the last retry was | the layer, and `queue_full` and the like |
/// | `tidegate.wait_ms` | over | in layers of ours that had not sent it yet, and for a service that was not ready |
///
/// How often it was sent again says the `GaveUp`, where that is the error. Otherwise it is how many retries
/// were decided on, where [`Events`](crate::Events) observe the retry: one that a layer below refused, and
/// after which another came, is among them. Why it was the last one is known of an error, and of a response
/// where they observe the retry.
///
/// The names are those of OpenTelemetry's conventions for HTTP clients (1.23); what a subscriber is told,
/// it is told once. The span ends with the head of the response. Back-off is no wait once something was
/// sent. What waits behind the worker of tower's `Buffer` waits unseen.
///
/// Where nobody listens to the span it costs a look at whether somebody does.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanLayer(());

impl SpanLayer {
    /// Spans with the target `tidegate` and the name `request`.
    pub fn new() -> Self {
        Self(())
    }
}

impl<S> Layer<S> for SpanLayer {
    type Service = Spanned<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Spanned::new(inner)
    }
}
