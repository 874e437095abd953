use std::sync::{Arc, PoisonError};

use tidegate_core::{Keyable, Snapshot, Steer};

use crate::entry::Entry;
use crate::table::Table;
use crate::{KeySettings, Settings};

/// Settings, and how layers whose handle can be steered take them.
pub(crate) struct Loaded<L> {
    pub(crate) settings: Arc<Settings>,
    prepare: fn(&L, KeySettings),
    follow: fn(&Table<L>, &Entry<L>, KeySettings, KeySettings),
}

impl<L: Keyable<Handle: Steer>> Loaded<L> {
    fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            prepare,
            follow,
        }
    }
}

impl<L> Loaded<L> {
    /// A layer that nobody has used yet.
    pub(crate) fn prepare(&self, layer: &L, key: &str) {
        (self.prepare)(layer, self.settings.of(key));
    }

    /// A layer that is in use, with the settings that it had.
    fn follow(&self, table: &Table<L>, entry: &Entry<L>, before: Option<&Settings>) {
        let before = before.map_or_else(KeySettings::new, |before| before.of(entry.key.as_str()));
        (self.follow)(table, entry, before, self.settings.of(entry.key.as_str()));
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl<L> Clone for Loaded<L> {
    fn clone(&self) -> Self {
        Self {
            settings: Arc::clone(&self.settings),
            ..*self
        }
    }
}

impl<L> Table<L> {
    pub(crate) fn loaded(&self) -> Option<Loaded<L>> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.clone()
    }

    /// Whether those are in force.
    pub(crate) fn is_loaded(&self, known: Option<&Loaded<L>>) -> bool {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        match (&*loaded, known) {
            (Some(loaded), Some(known)) => loaded.is(known),
            (None, None) => true,
            _ => false,
        }
    }

    /// Has an entry with those settings follow the ones that are in force. Returns them.
    pub(crate) fn catch_up(
        &self,
        entry: &Entry<L>,
        known: Option<&Loaded<L>>,
    ) -> Option<Loaded<L>> {
        let loaded = self.loaded();
        let before = known.map(|known| &*known.settings);
        loaded
            .iter()
            .for_each(|loaded| loaded.follow(self, entry, before));
        loaded
    }
}

impl<L: Keyable<Handle: Steer>> Table<L> {
    /// Other settings, for all keys that are kept and all that come.
    pub(crate) fn load(&self, change: impl FnOnce(&Settings) -> Settings) {
        let mut in_force = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        let before = in_force.take();
        let none = Settings::new();
        let known = before.as_ref().map_or(&none, |before| &before.settings);
        let loaded = Loaded::new(change(known).with_keys(|key| self.normal(key)));
        *in_force = Some(loaded.clone());
        drop(in_force);
        self.for_each(|entry| {
            loaded.follow(self, entry, before.as_ref().map(|before| &*before.settings));
            self.settle(entry, &loaded);
        });
    }

    /// Other settings for one key.
    pub(crate) fn set(&self, key: &str, settings: KeySettings) {
        let key = self.normal(key);
        let mut in_force = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        let loaded = in_force.get_or_insert_with(|| Loaded::new(Settings::new()));
        let before = loaded.settings.of(&key);
        // Whoever knows those of before goes on to see them, and that they are no longer in force.
        Arc::make_mut(&mut loaded.settings).insert(key.clone(), settings);
        let loaded = loaded.clone();
        drop(in_force);
        if let Some(entry) = self.peek(&key) {
            (loaded.follow)(self, &entry, before, loaded.settings.of(&key));
            self.settle(&entry, &loaded);
        }
    }

    /// Whoever came with other settings meanwhile may have been overtaken here.
    fn settle(&self, entry: &Entry<L>, loaded: &Loaded<L>) {
        if self.is_loaded(Some(loaded)) {
            return;
        }
        let mut known = Some(loaded.clone());
        while !self.is_loaded(known.as_ref()) {
            known = self.catch_up(entry, known.as_ref());
        }
    }
}

/// Its bucket is full at the new burst too, rather than holding what the old one had.
fn prepare<L: Keyable<Handle: Steer>>(layer: &L, settings: KeySettings) {
    let handle = layer.handle();
    settings
        .limit
        .into_iter()
        .for_each(|limit| handle.set_limit(limit));
    if settings.pace.is_some() {
        handle.set_pace(None);
        handle.set_pace(settings.pace);
    }
}

/// What is the same as before stays where it is: a law may have moved it since.
fn follow<L: Keyable<Handle: Steer>>(
    table: &Table<L>,
    entry: &Entry<L>,
    before: KeySettings,
    settings: KeySettings,
) {
    if before == settings {
        return;
    }
    let handle = entry.layer.handle();
    // What is no longer set is as a layer that is made now has it.
    let new = || -> Snapshot { table.make(entry.key.as_str()).handle().snapshot() };
    if before.limit != settings.limit {
        handle.set_limit(settings.limit.unwrap_or_else(|| new().limit));
    }
    if before.pace != settings.pace {
        handle.set_pace(settings.pace.or_else(|| new().pace));
    }
}
