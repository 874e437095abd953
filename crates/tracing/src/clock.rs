use tokio::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where this layer reads a clock; tokio's, so that tests can pause it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
