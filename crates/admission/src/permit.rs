use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::admission::Entry;
use crate::door::Door;
use crate::primitives::Std;
use crate::queue::Lease;

/// A place inside a [`Door`]; dropped, it is free for the next.
#[must_use = "dropped, the place is free again"]
pub struct Permit {
    door: Door,
    tokens: u32,
    /// Whether it counts among those that a body holds.
    body: bool,
    /// Whether its place is free already.
    over: bool,
}

impl Permit {
    #[expect(
        clippy::inline_always,
        reason = "half of a call's cost otherwise, see `benches/overhead`"
    )]
    #[inline(always)]
    pub(crate) fn new(door: Door, entry: Entry) -> Self {
        Self {
            door,
            tokens: entry.tokens,
            body: false,
            over: false,
        }
    }

    /// How many tokens it took: its cost, or 0 if there was no pace.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Gives back the place and the tokens: nothing was sent.
    pub fn give_back(self) {
        let entry = Entry {
            tokens: self.tokens,
        };
        let door = self.door.clone();
        drop(self);
        door.inner().give_back(entry);
    }

    /// A response body holds it from now on, which ends only if somebody reads it.
    ///
    /// When others wait, nobody has entered for a second, and every place is held by a body that
    /// nobody has polled in that time, the door warns: those who wait may be the ones who should
    /// read.
    pub fn hold_by_body(&mut self) {
        if !self.body {
            self.body = true;
            self.door.inner().bodies.open();
        }
    }

    /// The body that holds it is being read.
    #[inline]
    pub fn body_polled(&self) {
        self.door.inner().bodies.polled();
    }

    /// Frees the place after `longest` even if the permit still lives.
    ///
    /// That it has run out is found when somebody needs the place; it then counts as
    /// [`overdue`](Door::overdue).
    pub fn expire_after(self, longest: Duration) -> LeasedPermit {
        let inner = self.door.inner();
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        let at = inner.now().saturating_add(longest);
        let (lease, effects) = inner.admission.lease(at, || inner.now());
        let leased = LeasedPermit {
            permit: self,
            lease,
        };
        leased.permit.door.inner().apply(effects);
        leased
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        if self.body {
            self.door.inner().bodies.close();
        }
        if !self.over {
            self.door.inner().leave();
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

/// A [`Permit`] that ends at a time even if its holder does not.
#[derive(Debug)]
#[must_use = "dropped, the place is free again"]
pub struct LeasedPermit {
    permit: Permit,
    lease: Arc<Lease<Std>>,
}

impl LeasedPermit {
    /// Whether its time has run out and its place went to somebody else.
    pub fn is_overdue(&self) -> bool {
        self.lease.has_ended()
    }

    /// See [`Permit::hold_by_body`].
    pub fn hold_by_body(&mut self) {
        self.permit.hold_by_body();
    }

    /// See [`Permit::body_polled`].
    #[inline]
    pub fn body_polled(&self) {
        self.permit.body_polled();
    }
}

impl Drop for LeasedPermit {
    fn drop(&mut self) {
        self.permit.over = !self.lease.end();
    }
}
