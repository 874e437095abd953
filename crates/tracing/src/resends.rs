//! How many retries were decided on while a future above was polled: the observer of a retry is called in
//! there.

use std::cell::Cell;

thread_local! {
    static RESENDS: Cell<u32> = const { Cell::new(0) };
}

/// The next attempt has this number.
pub(crate) fn note(attempt: u32) {
    RESENDS.set(attempt.saturating_sub(1));
}

/// What `poll` returns, and the last one noted meanwhile, or 0.
pub(crate) fn watch<T>(poll: impl FnOnce() -> T) -> (T, u32) {
    let outer = RESENDS.replace(0);
    let polled = poll();
    (polled, RESENDS.replace(outer))
}
