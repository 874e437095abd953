use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tidegate_core::Keyable;

use crate::entry::Entry;

/// The handle of what is kept for one key: whatever the handle of its layer can do. While it is held,
/// the key stays.
pub struct KeyHandle<L: Keyable> {
    // Above `entry`, which may go then.
    handle: L::Handle,
    entry: Arc<Entry<L>>,
}

impl<L: Keyable> KeyHandle<L> {
    pub(crate) fn new(entry: Arc<Entry<L>>) -> Self {
        let handle = entry.layer.handle();
        Self { handle, entry }
    }

    /// The key; `*` where there was no room for it.
    pub fn key(&self) -> &str {
        self.entry.key.as_str()
    }
}

impl<L: Keyable> Deref for KeyHandle<L> {
    type Target = L::Handle;

    fn deref(&self) -> &L::Handle {
        &self.handle
    }
}

impl<L: Keyable> fmt::Debug for KeyHandle<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHandle")
            .field("key", &self.entry.key)
            .finish_non_exhaustive()
    }
}
