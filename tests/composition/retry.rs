//! A policy of tower's retry.

use futures_util::future::{Ready, ready};
use tower::retry::{Policy, RetryLayer};

use crate::strict::Strict;

/// At most three attempts, for whatever error.
#[derive(Clone, Default)]
pub(super) struct ThreeAttempts {
    pub(super) made: usize,
    /// What can no longer get ready after the first.
    pub(super) breaks: Option<Strict>,
}

impl<E> Policy<String, u32, E> for ThreeAttempts {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut String, answer: &mut Result<u32, E>) -> Option<Ready<()>> {
        self.made += 1;
        self.breaks
            .iter()
            .for_each(|strict| strict.break_readiness(true));
        (answer.is_err() && self.made < 3).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &String) -> Option<String> {
        Some(request.clone())
    }
}

pub(super) fn three_attempts() -> RetryLayer<ThreeAttempts> {
    RetryLayer::new(ThreeAttempts::default())
}
