use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tidegate_core::Error;

use crate::{GaveUp, GaveUpReason};

/// What is left of the last answer while another attempt is made: the response itself is let go, so that
/// its permit is free.
#[derive(Debug, Default)]
pub(crate) struct LastAnswer {
    /// If it was a response.
    pub(crate) status: Option<StatusCode>,
    /// What was read of that response.
    pub(crate) body: Bytes,
    /// If it was an error.
    pub(crate) error: Option<Error>,
    /// What it asked for, until that was waited out.
    pub(crate) hint: Option<Duration>,
}

impl LastAnswer {
    /// Nothing better came.
    pub(crate) fn gave_up(&mut self, reason: GaveUpReason, sent: u32) -> GaveUp {
        GaveUp::new(reason, sent)
            .status(self.status)
            .retry_after(self.hint)
            .body(std::mem::take(&mut self.body))
            .source(self.error.take())
    }
}
