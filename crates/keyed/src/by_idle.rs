use std::time::Instant;

use tidegate_core::{Freshness, Keyable};
use tower_layer::Layer;

/// A layer that cannot say how fresh it is, such as one of another crate: kept for a key until that
/// has been idle for long enough, whatever it still owes.
///
/// What is lost then is what the layer knows. With tower's `GlobalConcurrencyLimitLayer` those are the
/// requests whose bodies are still being read: they are no longer counted, and as many again may be
/// in flight. A pause or a debt that is longer than the idle time is forgotten.
///
/// A service is built for each call, so the state has to be in the layer: tower's
/// `ConcurrencyLimitLayer` and `RateLimitLayer` begin anew with each service, and limit nothing here.
///
/// ```
/// use tidegate_keyed::{ByIdle, KeyedLayer};
/// use tower::limit::GlobalConcurrencyLimitLayer;
///
/// let layer = KeyedLayer::per_host(|_host| ByIdle(GlobalConcurrencyLimitLayer::new(4)));
/// # drop(layer);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByIdle<L>(pub L);

impl<L> Keyable for ByIdle<L> {
    type Handle = ();

    fn handle(&self) {}

    /// Always [`Freshness::Learned`].
    fn freshness(&self, _now: Instant) -> Freshness {
        Freshness::Learned
    }
}

impl<S, L: Layer<S>> Layer<S> for ByIdle<L> {
    type Service = L::Service;

    fn layer(&self, inner: S) -> L::Service {
        self.0.layer(inner)
    }
}
