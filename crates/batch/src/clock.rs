use tokio::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "the driver is a shell: here it reads the clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
