//! What turns a door's knobs while it runs.

use std::sync::Arc;
use std::time::Instant;

use tidegate_core::{Observer, Pace, Snapshot, Steer, WeakSteer};

use crate::door::Door;

impl Steer for Door {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new(self.limit());
        snapshot.in_flight = self.in_flight();
        snapshot.pause_until = self.paused_until();
        snapshot.full_at = self.full_at();
        self.0.admission.with_queue(|queue| {
            snapshot.waiting = queue.ring.waiting();
            snapshot.pace = queue.pace;
            snapshot.closed = queue.closed;
            let meters = queue.meters.iter();
            for (number, pace) in meters.flat_map(|meters| meters.paces()).skip(1) {
                snapshot.further_paces.set(number, pace);
            }
        });
        snapshot
    }

    fn downgrade(&self) -> WeakSteer {
        let door = self.0.this();
        WeakSteer::new(move || Some(Self(door.upgrade()?).snapshot()))
    }

    fn set_limit(&self, limit: usize) {
        self.set_limit(limit);
    }

    fn set_pace(&self, pace: Option<Pace>) {
        self.set_pace(pace);
    }

    fn pause_until(&self, until: Instant) {
        self.pause_until(until);
    }

    fn observe(&self, observer: Arc<dyn Observer>) {
        self.observe(observer);
    }
}
