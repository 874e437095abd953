//! What a retry decided while a future above was polled: its observer is called in there.

use std::cell::Cell;

thread_local! {
    static RETRIED: Cell<Retried> = const { Cell::new(Retried::NOTHING) };
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Retried {
    /// How many retries were decided on.
    pub(crate) resends: u32,
    /// Why the last answer was the last.
    pub(crate) gave_up: Option<&'static str>,
}

impl Retried {
    const NOTHING: Self = Self {
        resends: 0,
        gave_up: None,
    };
}

/// The next attempt has this number.
pub(crate) fn note_resend(attempt: u32) {
    RETRIED.set(Retried {
        resends: attempt.saturating_sub(1),
        gave_up: None,
    });
}

/// There is no next attempt.
pub(crate) fn note_gave_up(why: &'static str) {
    RETRIED.set(Retried {
        gave_up: Some(why),
        ..RETRIED.get()
    });
}

/// What `poll` returns, and what was noted meanwhile.
pub(crate) fn watch<T>(poll: impl FnOnce() -> T) -> (T, Retried) {
    let outer = RETRIED.replace(Retried::NOTHING);
    let polled = poll();
    (polled, RETRIED.replace(outer))
}
