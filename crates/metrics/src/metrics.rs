use std::sync::Arc;

use tidegate_core::{Observer, Snapshot, Steer, text};

use crate::MeasureLayer;
use crate::key_observer::KeyObserver;
use crate::kind::Kind;
use crate::names;
use crate::retries::Retries;
use crate::series::Series;
use crate::stack::Stack;

/// The metrics of one stack, in the recorder that is installed when it is made.
///
/// A clone is the same. See the [crate](crate) for what there is, and for when it is there.
#[derive(Clone, Debug)]
pub struct Metrics {
    stack: Arc<Stack>,
    key: Option<Arc<str>>,
}

impl Metrics {
    /// Those of the stack of that name, which is the label `tidegate.stack` of each. Install the recorder
    /// before: what no recorder was there for is lost.
    ///
    /// Once for each name: of two that are made with one name, the gauges are those of the last that was looked
    /// at, and not their sum. A clone is the same.
    pub fn new(stack: &str) -> Self {
        names::describe();
        Self {
            stack: Arc::new(Stack::new(stack)),
            key: None,
        }
    }

    /// How many keys have a label of their own at most, and how many hosts; what all others do together
    /// is that of the key, or the address, `other`. Default 20; more than 1,000 are taken as 1,000.
    ///
    /// The first half of them are those that come first. The others have to be hot: to come at least 100
    /// times, and once among 100 times this number (2,000) of those that have no label. Who has a label
    /// keeps it.
    #[must_use]
    pub fn top_keys(self, most: usize) -> Self {
        self.stack.set_most(most);
        self
    }

    /// The same for one key of the stack, whose label is `tidegate.key` once that has [one of its
    /// own](Self::top_keys).
    ///
    /// What happens before counts into the key `other`, and stays there: over all keys a counter is exact.
    /// `other` has no gauges.
    ///
    /// Of a key that is a URL only scheme, host and path are shown, and of any at most 100 characters on one
    /// line; those that look the same then are one.
    ///
    /// ```
    /// use tidegate_gate::GateLayer;
    /// use tidegate_keyed::KeyedLayer;
    /// use tidegate_metrics::Metrics;
    ///
    /// let metrics = Metrics::new("crawl");
    /// let polite = KeyedLayer::per_host(move |host| {
    ///     let gate = GateLayer::new(2);
    ///     metrics.key(host).attach(&gate.handle());
    ///     gate
    /// });
    /// # drop(polite);
    /// ```
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self {
            stack: Arc::clone(&self.stack),
            key: Some(Arc::from(text::name(key))),
        }
    }

    /// Shows what happens at the layer of this handle, and how it stands. Once for each layer: twice counts
    /// twice.
    ///
    /// Several gates, or several rates, that are attached to one are one sum: for one each, give each a
    /// name as a stack of its own. Each of them is looked at every 100 ms: thousands want a [key](Self::key)
    /// each. The layer is not kept alive; when it is gone, its gauges are 0.
    pub fn attach(&self, handle: &(impl Steer + ?Sized)) {
        let snapshot = handle.snapshot();
        if let Some(key) = &self.key {
            let (key, steer) = (Arc::clone(key), handle.downgrade());
            let observer = KeyObserver::new(&self.stack, key, &snapshot, steer);
            handle.observe(Arc::new(observer));
        } else {
            let series = self.series(&snapshot);
            series.watch(handle.downgrade());
            handle.observe(Arc::clone(series) as _);
        }
    }

    /// For a layer that has no handle, such as a retry: counts the retries that it decides on, and by
    /// reason the calls that it gives up. They have no key.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(Retries::new(self.stack.labels()))
    }

    /// Measures how long requests take: `http.client.request.duration`.
    ///
    /// Place it below retries and limits, so that it measures each attempt and none of its waits, and above
    /// a timeout, so that it sees that.
    pub fn requests(&self) -> MeasureLayer {
        MeasureLayer::new(Arc::clone(&self.stack))
    }

    /// All gauges and counters of the stack are as things stand when this returns: for whoever is about to
    /// render them.
    ///
    /// Without it they are at most 100 ms behind the last event at their layer.
    pub fn refresh(&self) {
        self.stack.refresh();
    }

    fn series(&self, snapshot: &Snapshot) -> &Arc<Series> {
        let series = self.stack.series(Kind::of(snapshot));
        if snapshot.learns {
            series.learns();
        }
        series
    }
}
