use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use http::response::Parts;
use http::{HeaderValue, header::CONTENT_TYPE};
use tidegate_classify::Statuses;
use tower_layer::Layer;

use crate::Peek;

/// How long a response is held back by default.
const WITHIN: Duration = Duration::from_millis(100);

/// Holds back some responses until their first bytes are there, for a classifier to see. See the
/// [crate](crate) for an example.
#[derive(Clone, Debug)]
pub struct PeekLayer {
    rules: Arc<Rules>,
}

/// Which responses, and how much of them.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) most: usize,
    pub(crate) within: Duration,
    statuses: Vec<RangeInclusive<u16>>,
    content_types: Vec<String>,
}

impl PeekLayer {
    /// At most `most` bytes of the responses that are named next: of none yet.
    pub fn new(most: usize) -> Self {
        let rules = Rules {
            most,
            within: WITHIN,
            statuses: Vec::new(),
            content_types: Vec::new(),
        };
        Self {
            rules: Arc::new(rules),
        }
    }

    /// Of responses with these statuses.
    #[must_use]
    pub fn status(self, statuses: impl Statuses) -> Self {
        self.with(|rules| rules.statuses.extend(statuses.ranges()))
    }

    /// Of those among them with this type of content, such as `application/json`, whatever its
    /// parameters and its case. Default: any.
    #[must_use]
    pub fn content_type(self, content_type: &str) -> Self {
        let content_type = content_type.trim().to_ascii_lowercase();
        self.with(|rules| rules.content_types.push(content_type))
    }

    /// How long a response may be held back; what has come by then is seen. Default: 100 ms.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        self.with(|rules| rules.within = within)
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(Arc::make_mut(&mut self.rules));
        self
    }
}

impl Rules {
    pub(crate) fn concern(&self, head: &Parts) -> bool {
        let status = head.status.as_u16();
        self.statuses.iter().any(|range| range.contains(&status))
            && (self.content_types.is_empty()
                || head
                    .headers
                    .get(CONTENT_TYPE)
                    .is_some_and(|value| self.is_named(value)))
    }

    fn is_named(&self, value: &HeaderValue) -> bool {
        let essence = value.as_bytes().split(|byte| *byte == b';').next();
        let essence = essence.unwrap_or_default().trim_ascii();
        let mut named = self.content_types.iter();
        named.any(|content_type| content_type.as_bytes().eq_ignore_ascii_case(essence))
    }
}

impl<S> Layer<S> for PeekLayer {
    type Service = Peek<S>;

    fn layer(&self, inner: S) -> Peek<S> {
        Peek::new(inner, Arc::clone(&self.rules))
    }
}
