use std::time::Duration;

use tokio::time::Instant;

/// How late tokio's timers may fire: they count whole milliseconds.
pub(crate) const TICK: Duration = Duration::from_millis(1);

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the upstream reads a clock; tokio's, so that tests can pause it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
