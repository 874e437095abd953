use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Observer;

/// Who hears of those that wait and of those that are refused. Nobody else has to look for them.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    any: AtomicBool,
    all: Mutex<Arc<[Arc<dyn Observer>]>>,
}

impl Observers {
    pub(crate) fn add(&self, observer: Arc<dyn Observer>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        *all = all.iter().cloned().chain([observer]).collect();
        self.any.store(true, Release);
    }

    pub(crate) fn any(&self) -> bool {
        self.any.load(Acquire)
    }

    /// Outside of the lock: they may come back to the door.
    pub(crate) fn tell(&self, tell: impl Fn(&dyn Observer)) {
        if !self.any() {
            return;
        }
        let all = Arc::clone(&self.all.lock().unwrap_or_else(PoisonError::into_inner));
        all.iter().for_each(|observer| tell(&**observer));
    }
}
