use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_core::{Snapshot, WeakSteer};

/// What is looked at, as long as it is there.
#[derive(Default)]
pub(crate) struct Watched {
    all: Mutex<Vec<Arc<One>>>,
    looks: AtomicU64,
}

struct One {
    steer: WeakSteer,
    is_gone: AtomicBool,
}

impl Watched {
    /// One more. Returns how many there are.
    pub(crate) fn add(&self, steer: WeakSteer) -> usize {
        let is_gone = AtomicBool::new(false);
        let mut all = self.all();
        all.push(Arc::new(One { steer, is_gone }));
        all.len()
    }

    /// How each of them stands, which is asked without a lock, and a number: of two looks the one with
    /// the greater number began later.
    pub(crate) fn look(&self) -> (u64, Vec<Snapshot>) {
        let look = 1 + self.looks.fetch_add(1, Relaxed);
        let all = self.all().clone();
        let standing: Vec<_> = all.iter().filter_map(|one| one.look()).collect();
        if standing.len() < all.len() {
            self.all().retain(|one| !one.is_gone.load(Relaxed));
        }
        (look, standing)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<One>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl One {
    fn look(&self) -> Option<Snapshot> {
        let snapshot = self.steer.snapshot();
        self.is_gone.store(snapshot.is_none(), Relaxed);
        snapshot
    }
}
