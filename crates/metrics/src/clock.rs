use std::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "the clock of this shell: tokio's, so that tests can pause it"
)]
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
