use std::time::Instant;

use crate::Pace;

/// What a law asks of a door.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// How many requests may be in flight. A law keeps a real number; a door uses its floor, and
    /// never less than 1.
    pub limit: f64,
    /// How many may start per second, if the law limits that.
    pub pace: Option<Pace>,
    /// Until when nobody may start.
    pub pause_until: Option<Instant>,
}

impl Setting {
    /// A limit alone: no pace, no pause.
    pub fn limit(limit: f64) -> Self {
        Self {
            limit,
            pace: None,
            pause_until: None,
        }
    }
}
