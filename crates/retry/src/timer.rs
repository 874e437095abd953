use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

/// One timer for all waits of a call, made when the first of them begins.
#[pin_project]
#[derive(Debug, Default)]
pub(crate) struct Timer {
    #[pin]
    sleep: Option<Sleep>,
}

impl Timer {
    pub(crate) fn poll_until(self: Pin<&mut Self>, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let mut sleep = self.project().sleep;
        match sleep.as_mut().as_pin_mut() {
            None => sleep.set(Some(sleep_until(at))),
            Some(armed) if armed.deadline() != at => armed.reset(at),
            Some(_) => {}
        }
        match sleep.as_pin_mut() {
            Some(armed) => armed.poll(cx),
            None => unreachable!("it was armed a moment ago"),
        }
    }
}
