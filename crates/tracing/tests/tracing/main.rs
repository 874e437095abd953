//! What a subscriber hears of a stack.

mod events;
mod heard;
mod hostile;
mod json;
mod refusals;
#[cfg(feature = "reqwest")]
mod reqwest;
mod spans;

use tokio::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "the tests' one look at the clock, which they pause"
)]
fn now() -> Instant {
    Instant::now()
}
