//! What several of the tests need.

use tidegate::GateHandle;
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
pub(crate) fn assert_free(gate: &GateHandle, limit: usize) {
    assert_eq!((gate.in_flight(), gate.waiting()), (0, 0));
    let permits: Vec<_> = std::iter::from_fn(|| gate.try_acquire().ok())
        .take(limit + 1)
        .collect();
    assert_eq!(permits.len(), limit);
}
