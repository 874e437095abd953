use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

use crate::table::Table;
use crate::{Keyed, KeyedHandle, PerHost, per_host};

/// Keeps one layer for each key, such as a gate for each host, and forgets what nobody would miss.
///
/// There is one set of layers for each `new`: clones of this layer and all services that it makes
/// share it, and the settings below are those of the set. See the [crate](crate) for what is kept,
/// and for how long.
pub struct KeyedLayer<K, L> {
    key: K,
    table: Arc<Table<L>>,
}

impl<L> KeyedLayer<PerHost, L> {
    /// A layer for each [host](PerHost), made by `layer` when the first request goes there.
    ///
    /// To find the layer of a host that is known allocates nothing.
    pub fn per_host(layer: impl Fn(&str) -> L + Send + Sync + 'static) -> Self {
        Self {
            key: PerHost,
            table: Arc::new(Table::new(layer, per_host::normal)),
        }
    }
}

impl<K, L> KeyedLayer<K, L> {
    /// A layer for each key that `key` names, made by `layer` when the first request of that key comes.
    ///
    /// `key` is a closure whose parameter has its type written out, or another [`Key`](crate::Key).
    /// `layer` is called outside of every lock: two threads may make one for the same key at the same
    /// time, and one of the two is dropped unused. It may look into the set itself.
    pub fn new(key: K, layer: impl Fn(&str) -> L + Send + Sync + 'static) -> Self {
        Self {
            key,
            table: Arc::new(Table::new(layer, str::to_owned)),
        }
    }

    /// How many keys are kept at most; 0 is taken as 1. Default 100,000.
    ///
    /// For another one the least valuable of a few that are looked at makes room: one that is
    /// [fresh](tidegate_core::Freshness); or else the one that is idle for longest of those that have
    /// only learned something, before its idle time. If all of them are in use, the request goes
    /// through one layer that all such keys share, whose key is `*`. So no debt is forgotten and nothing
    /// is refused. One whose text is long counts as one more for each KiB of it.
    ///
    /// A key that finds room later begins with a layer of its own, and does not owe there what it took of
    /// the shared one: in any time it may start what its own layer lets start, and beside that what the
    /// shared one does. Where that is made as all others are, those are twice the burst, twice the pace
    /// and twice the limit at most. All keys without room together get no more than one of them would; a
    /// shared layer with a lower pace, made where `layer` is called with `*`, lowers both.
    #[must_use]
    pub fn max_keys(self, max_keys: usize) -> Self {
        self.table.set_max_keys(max_keys);
        self
    }

    /// How long a key is idle before what it has learned is forgotten, to the second. Default 10
    /// minutes.
    #[must_use]
    pub fn forget_after(self, idle: Duration) -> Self {
        self.table.set_idle(idle);
        self
    }

    /// Watches and moves what is kept, while it runs.
    pub fn handle(&self) -> KeyedHandle<L> {
        KeyedHandle::new(Arc::clone(&self.table))
    }
}

impl<S, K: Clone, L> Layer<S> for KeyedLayer<K, L> {
    type Service = Keyed<S, K, L>;

    fn layer(&self, inner: S) -> Self::Service {
        Keyed::new(inner, self.key.clone(), Arc::clone(&self.table))
    }
}

impl<K: Clone, L> Clone for KeyedLayer<K, L> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            table: Arc::clone(&self.table),
        }
    }
}

impl<K, L> fmt::Debug for KeyedLayer<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedLayer")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
