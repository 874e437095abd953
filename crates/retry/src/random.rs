use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

thread_local! {
    /// The standard library's hash keys are drawn from the system once a process, and differ for each
    /// thread.
    static GENERATOR: RefCell<SmallRng> =
        RefCell::new(SmallRng::seed_from_u64(RandomState::new().hash_one(0)));
}

/// Anything within `0.0..1.0`, each as likely.
pub(crate) fn random() -> f64 {
    GENERATOR.with_borrow_mut(RngExt::random)
}
