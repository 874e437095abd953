use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::admission::Entry;
use crate::door::Door;
use crate::queue::Lease;

/// A place inside a [`Door`]; dropped, it is free for the next.
#[must_use = "dropped, the place is free again"]
pub struct Permit {
    door: Door,
    tokens: u32,
    lease: Option<Arc<Lease>>,
}

impl Permit {
    pub(crate) fn new(door: Door, entry: Entry) -> Self {
        Self {
            door,
            tokens: entry.tokens,
            lease: None,
        }
    }

    /// How many tokens it took: its cost, or 0 if there was no pace.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Gives back the place and the tokens: nothing was sent.
    pub fn give_back(mut self) {
        let entry = Entry {
            tokens: std::mem::take(&mut self.tokens),
        };
        let door = self.door.clone();
        drop(self);
        door.inner().give_back(entry);
    }

    /// Frees the place after `longest` even if this permit still lives.
    ///
    /// That it has run out is found when somebody needs the place; it then counts as
    /// [`overdue`](Door::overdue).
    pub fn expire_after(&mut self, longest: Duration) {
        let inner = self.door.inner();
        let at = inner
            .now()
            .saturating_add(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX));
        self.lease.get_or_insert_with(|| inner.admission.lease(at));
    }

    /// Whether its place was freed by [`expire_after`](Self::expire_after).
    pub fn is_overdue(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.has_ended())
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        if self.lease.as_ref().is_none_or(|lease| lease.end()) {
            self.door.inner().leave();
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("tokens", &self.tokens)
            .field("overdue", &self.is_overdue())
            .finish_non_exhaustive()
    }
}
