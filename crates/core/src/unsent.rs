//! How a layer below tells one above that a request waits and has not been sent.
//!
//! A retry that runs out of time has to know it: a request that still waits in front of a door is none
//! that may have been processed. The layers between may be foreign, and a future has nothing but
//! `Pending` to say, so that the word is left with the thread while it polls.

use std::cell::Cell;
use std::task::Poll;

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
    static WAITED: Cell<bool> = const { Cell::new(false) };
}

/// `Poll::Pending`, said by a layer that still has the request in its hands.
///
/// ```
/// use std::task::Poll;
/// use tidegate_core::unsent;
///
/// let (polled, waits) = unsent::watch(unsent::pending::<()>);
/// assert!(polled.is_pending() && waits);
/// let (_, waits) = unsent::watch(|| Poll::<()>::Pending);
/// assert!(!waits); // nobody says so: it may have been sent
/// ```
#[inline]
pub fn pending<T>() -> Poll<T> {
    say();
    Poll::Pending
}

/// Apart from the answer: a call that is handed the place of a large one keeps the compiler from
/// building that where it goes.
#[cold]
#[inline(never)]
fn say() {
    WAITS.set(true);
    WAITED.set(true);
}

/// What `poll` returns, and whether a layer said meanwhile that a request is [`pending`] in its hands.
///
/// That holds for this thread and this poll. What a worker polls elsewhere says nothing here, and a
/// layer that polls two requests at once may hear it of one of them.
pub fn watch<T>(poll: impl FnOnce() -> T) -> (T, bool) {
    let outer = WAITS.replace(false);
    let polled = poll();
    (polled, WAITS.replace(outer))
}

/// The same, whoever watches in between: a retry that has sent one attempt does not pass on that the
/// next one waits.
pub fn watch_all<T>(poll: impl FnOnce() -> T) -> (T, bool) {
    let outer = WAITED.replace(false);
    let polled = poll();
    let waited = WAITED.get();
    WAITED.set(outer || waited);
    (polled, waited)
}

/// Forgets what was said, for a layer that polls the one request it has, and asks then what was
/// [`said`] of it. It says so to those above it without a word of its own.
///
/// ```
/// use std::task::Poll;
/// use tidegate_core::unsent;
///
/// let relay = |poll: fn() -> Poll<()>| {
///     unsent::hush();
///     poll().is_pending() && unsent::said()
/// };
/// assert_eq!(unsent::watch(|| relay(unsent::pending)), (true, true));
/// assert!(!relay(|| Poll::Pending));
/// ```
#[inline]
pub fn hush() {
    WAITS.set(false);
}

/// Whether a layer below has said since [`hush`] that the request is [`pending`] in its hands.
#[inline]
pub fn said() -> bool {
    WAITS.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_within_a_watch_is_not_heard_outside_of_it() {
        let ((_, inner), outer) = watch(|| watch(pending::<()>));
        assert!(inner && !outer);
    }

    #[test]
    fn a_word_before_a_watch_is_heard_outside_of_it_alone() {
        let (inner, outer) = watch(|| {
            let _ = pending::<()>();
            watch(|| ()).1
        });
        assert!(!inner && outer);
    }

    #[test]
    fn who_watches_all_hears_a_word_within_another_watch() {
        let two = || watch_all(|| watch_all(|| watch(pending::<()>)).1);
        assert_eq!(two(), (true, true));
        assert_eq!(watch_all(|| ()), ((), false));
    }
}
