//! What several of the tests need.

use tidegate::Door;
use tokio::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "the tests' one look at the clock, which most of them pause"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// With everything finished or dropped, exactly `limit` can enter at once.
#[track_caller]
pub(crate) fn assert_free(door: &Door, limit: usize) {
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
    let permits: Vec<_> = std::iter::from_fn(|| door.try_acquire(1).ok())
        .take(limit + 1)
        .collect();
    assert_eq!(permits.len(), limit);
}
