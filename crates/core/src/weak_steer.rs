use std::fmt;

use crate::Snapshot;

/// Sees how something stands, without keeping it alive.
pub struct WeakSteer(Box<dyn Fn() -> Option<Snapshot> + Send + Sync>);

impl WeakSteer {
    /// Sees what `look` sees: nothing once what it looks at is gone, and it holds that weakly.
    pub fn new(look: impl Fn() -> Option<Snapshot> + Send + Sync + 'static) -> Self {
        Self(Box::new(look))
    }

    /// How it stands now; `None` once it is gone.
    pub fn snapshot(&self) -> Option<Snapshot> {
        (self.0)()
    }
}

impl fmt::Debug for WeakSteer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakSteer").field(&self.snapshot()).finish()
    }
}
