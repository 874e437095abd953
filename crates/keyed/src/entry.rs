use std::fmt;

use crate::key_text::KeyText;

/// A key and the layer that is kept for it. While anybody but the table holds it, it stays there.
pub(crate) struct Entry<L> {
    pub(crate) key: KeyText,
    pub(crate) layer: L,
}

impl<L> fmt::Debug for Entry<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
