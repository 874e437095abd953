use std::time::Duration;

use crate::admission::Entry;
use crate::door::Door;
use crate::place::{LeasedPlace, Place};

/// A place inside a [`Door`], and what it took from the bucket; dropped, the place is free for the
/// next.
#[derive(Debug)]
#[must_use = "dropped, the place is free again"]
pub struct Permit {
    place: Place,
    tokens: u32,
}

impl Permit {
    #[inline]
    pub(crate) fn new(door: Door, entry: Entry) -> Self {
        Self {
            place: Place::new(door),
            tokens: entry.tokens,
        }
    }

    /// How many tokens it took: its cost, or 0 if there was no pace.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Gives back the place and the tokens: nothing was sent.
    pub fn give_back(self) {
        let Self { place, tokens } = self;
        let door = place.door().cloned();
        drop(place);
        if let Some(door) = door {
            door.inner().give_back(Entry::charged(tokens));
        }
    }

    /// The place alone.
    pub fn into_place(self) -> Place {
        self.place
    }

    /// See [`Place::expire_after`].
    pub fn expire_after(self, longest: Duration) -> LeasedPlace {
        self.place.expire_after(longest)
    }
}
