use std::fmt;

use tidegate_core::{BoxError, Error};

/// Why a try failed, as the closure that saw its answer says. Any error is one, so that `?` works.
///
/// The request goes back to the tail while it [may](crate::Batch::again), unless it failed
/// [for good](Self::for_good).
///
/// It is not the [`Outcome`](tidegate_core::Outcome) that a law hears: that is about the service, and
/// this about the work. A 404 says nothing about the service, and may be a failure here; a page that
/// cannot be parsed was a success of the service.
///
/// ```
/// use tidegate_batch::{Batch, Failed};
///
/// # async fn example(client: reqwest::Client, requests: Vec<reqwest::Request>) {
/// let summary = Batch::new(client, requests)
///     .each(|_index, answer| async {
///         let response = answer?.error_for_status()?;
///         if response.content_length() == Some(0) {
///             return Err(Failed::for_good("there is nothing in it"));
///         }
///         Ok(response.text().await?)
///     })
///     .run()
///     .await;
/// # }
/// ```
pub struct Failed {
    pub(crate) error: Error,
    pub(crate) again: bool,
}

impl Failed {
    /// Another try would not help.
    pub fn for_good(error: impl Into<BoxError>) -> Self {
        Self {
            error: Error::service(error),
            again: false,
        }
    }

    /// Why.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl<E: Into<BoxError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self {
            error: Error::service(error),
            again: true,
        }
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failed")
            .field("error", &self.error)
            .field("again", &self.again)
            .finish()
    }
}

/// What a closure returns: a `Result`, whose error is any error, or a [`Failed`]. Not to be
/// implemented elsewhere.
pub trait Finish: sealed::Sealed {
    /// What a success is.
    type Value;

    /// How the try ended.
    #[doc(hidden)]
    fn finish(self) -> Result<Self::Value, Failed>;
}

mod sealed {
    pub trait Sealed {}
    impl<T, E> Sealed for Result<T, E> {}
}

impl<T, E: Into<Failed>> Finish for Result<T, E> {
    type Value = T;

    fn finish(self) -> Result<T, Failed> {
        self.map_err(Into::into)
    }
}
