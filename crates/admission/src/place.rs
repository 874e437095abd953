use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::saturating_nanos;

use crate::door::Door;
use crate::leases::Lease;
use crate::primitives::Std;

/// A place inside a [`Door`] and nothing else: what a response body holds. Dropped, it is free for
/// the next.
///
/// One pointer: a response that carries it is moved several times, and a hook of two words that was
/// just written in part costs those moves a tenth of a call.
#[must_use = "dropped, the place is free again"]
pub struct Place(Option<Door>);

impl Place {
    #[inline]
    pub(crate) fn new(door: Door) -> Self {
        Self(Some(door))
    }

    pub(crate) fn door(&self) -> Option<&Door> {
        self.0.as_ref()
    }

    /// A response body holds it from now on, which ends only if somebody reads it.
    ///
    /// When others wait, nobody has entered for a second, and every place is held by a body that
    /// nobody has polled in that time, the door warns: those who wait may be the ones who should
    /// read. Every call is to be followed by one of [`body_ended`](Self::body_ended).
    pub fn body_opened(&self) {
        self.0.iter().for_each(|door| door.inner().bodies.open());
    }

    /// The body that holds it is being read.
    #[inline]
    pub fn body_polled(&self) {
        self.0.iter().for_each(|door| door.inner().bodies.polled());
    }

    /// The body that held it has ended.
    pub fn body_ended(&self) {
        self.0.iter().for_each(|door| door.inner().bodies.close());
    }

    /// Frees the place after `longest` even if its holder does not.
    ///
    /// That it has run out is found when somebody needs the place; it then counts as
    /// [`overdue`](Door::overdue).
    pub fn expire_after(self, longest: Duration) -> LeasedPlace {
        let Some(door) = self.0.clone() else {
            unreachable!("only a lease takes it out, and this is none yet");
        };
        let inner = door.inner();
        let at = inner.now().saturating_add(saturating_nanos(longest));
        let (lease, effects) = inner.admission.lease(at, &|| inner.now());
        let leased = LeasedPlace { place: self, lease };
        inner.apply(effects);
        leased
    }
}

impl Drop for Place {
    #[inline]
    fn drop(&mut self) {
        if let Some(door) = &self.0 {
            door.inner().leave();
        }
    }
}

impl AsRef<Place> for Place {
    fn as_ref(&self) -> &Place {
        self
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

/// A [`Place`] that is freed at a time even if its holder does not.
#[derive(Debug)]
#[must_use = "dropped, the place is free again"]
pub struct LeasedPlace {
    place: Place,
    lease: Arc<Lease<Std>>,
}

impl LeasedPlace {
    /// Whether its time has run out and its place went to somebody else.
    pub fn is_overdue(&self) -> bool {
        self.lease.has_ended()
    }
}

impl AsRef<Place> for LeasedPlace {
    fn as_ref(&self) -> &Place {
        &self.place
    }
}

impl Drop for LeasedPlace {
    fn drop(&mut self) {
        if !self.lease.end() {
            // It is free already.
            drop(self.place.0.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_pointer() {
        assert_eq!(size_of::<Place>(), size_of::<usize>());
    }
}
