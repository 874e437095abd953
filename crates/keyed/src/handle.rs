use std::fmt;
use std::sync::Arc;

use tidegate_core::{Keyable, Snapshot, Steer};

use crate::table::Table;
use crate::{KeyHandle, KeySettings, Settings};

/// Watches and moves what is kept for the keys, one by one or all of them, while it runs.
///
/// A clone is the same set. Keys are written as requests have them; those of
/// [`per_host`](crate::KeyedLayer::per_host) may be written in any case.
pub struct KeyedHandle<L> {
    table: Arc<Table<L>>,
}

impl<L> KeyedHandle<L> {
    pub(crate) fn new(table: Arc<Table<L>>) -> Self {
        Self { table }
    }

    /// A key as a request has it.
    #[cfg(feature = "serde")]
    pub(crate) fn normal(&self, key: &str) -> String {
        self.table.normal(key)
    }

    /// How many keys are kept.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no key is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many requests found no room for their key, and went through the one layer that such
    /// keys share.
    pub fn overflowed(&self) -> usize {
        self.table.overflowed()
    }
}

impl<L: Keyable> KeyedHandle<L> {
    /// The handle of a key, if that is kept. While it is held, the key stays.
    pub fn get(&self, key: &str) -> Option<KeyHandle<L>> {
        self.table.peek(&self.table.normal(key)).map(KeyHandle::new)
    }

    /// The handle of a key, which is made if it is not kept: to pause a key that has not been asked
    /// for yet, say.
    pub fn key(&self, key: &str) -> KeyHandle<L> {
        KeyHandle::new(self.table.find(&self.table.normal(key)))
    }

    /// Calls `each` with every key that is kept and its handle, in no order.
    ///
    /// What it moves lasts as long as the key is kept; [`load`](Self::load) lasts.
    pub fn for_each(&self, mut each: impl FnMut(&str, L::Handle)) {
        self.table
            .for_each(|entry| each(entry.key.as_str(), entry.layer.handle()));
    }
}

impl<L: Keyable<Handle: Steer>> KeyedHandle<L> {
    /// How a key stands, if it is kept.
    pub fn snapshot(&self, key: &str) -> Option<Snapshot> {
        self.get(key).map(|kept| kept.snapshot())
    }

    /// What is set.
    pub fn settings(&self) -> Settings {
        let loaded = self.table.loaded();
        loaded.map_or_else(Settings::new, |loaded| (*loaded.settings).clone())
    }

    /// Other settings, in force for all keys when this returns, also for those who wait.
    ///
    /// What they set as before stays where it is, since a law may have moved it; what they no longer
    /// set is again as a layer has it that is made now. Tokens and debts are kept. Of two spellings of one
    /// key the last in the order of their bytes counts.
    pub fn load(&self, settings: Settings) {
        self.table.load(|_| settings);
    }

    /// Other settings for one key. They stay when the key is forgotten and comes back.
    pub fn set(&self, key: &str, settings: KeySettings) {
        self.table.set(key, settings);
    }

    /// Other settings for all keys that have none of their own.
    pub fn set_for_all(&self, settings: KeySettings) {
        self.table.load(|known| known.clone().for_all(settings));
    }
}

impl<L> Clone for KeyedHandle<L> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.table))
    }
}

impl<L> fmt::Debug for KeyedHandle<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyedHandle").field(&self.table).finish()
    }
}
