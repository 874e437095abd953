use std::sync::Arc;

use tower_layer::Layer;

use crate::Measure;
use crate::stack::Stack;

/// Measures how long requests take, as `http.client.request.duration`. See
/// [`Metrics::requests`](crate::Metrics::requests).
#[derive(Clone, Debug)]
pub struct MeasureLayer(Arc<Stack>);

impl MeasureLayer {
    pub(crate) fn new(stack: Arc<Stack>) -> Self {
        Self(stack)
    }
}

impl<S> Layer<S> for MeasureLayer {
    type Service = Measure<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Measure::new(inner, Arc::clone(&self.0))
    }
}
