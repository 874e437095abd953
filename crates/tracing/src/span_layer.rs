use std::sync::Arc;

use tidegate_core::text;
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
/// | `tidegate.stack` | it has a name | [what the stack is called](Self::name) |
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
#[derive(Clone, Debug, Default)]
pub struct SpanLayer {
    stack: Option<Arc<str>>,
}

impl SpanLayer {
    /// Spans with the target `tidegate` and the name `request`.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the stack is called in each span, such as the service that it calls; as
    /// [`Events::new`](crate::Events::new) has it for events. Default: nothing.
    ///
    /// Of a URL only scheme, host and path are shown, and of any name at most 100 characters on one line.
    ///
    /// ```
    /// use tidegate_tracing::SpanLayer;
    ///
    /// let spans = SpanLayer::new().name("users");
    /// # drop(spans);
    /// ```
    #[must_use]
    pub fn name(self, stack: &str) -> Self {
        let stack = Some(text::name(stack).into());
        Self { stack }
    }
}

impl<S> Layer<S> for SpanLayer {
    type Service = Spanned<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Spanned::new(inner, self.stack.clone())
    }
}
