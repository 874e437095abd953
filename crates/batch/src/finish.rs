use tidegate_core::{BoxError, Error};

/// How a try ended, as the closure that saw its answer says.
///
/// It is not the [`Outcome`](tidegate_core::Outcome) that a law hears: that is about the service, and
/// this about the work. A 404 says nothing about the service, and may be a failure here; a page that
/// cannot be parsed was a success of the service.
#[derive(Debug)]
pub enum Finish<T> {
    /// It is done: an index that is not sent again when the run is resumed.
    Done(T),
    /// It failed, and goes back to the tail while it [may](crate::Batch::again).
    Again(Error),
    /// It failed, and another try would not help.
    Failed(Error),
}

/// What a closure may return: a [`Finish`], or a `Result`, of which an error is [`Finish::Again`].
pub trait IntoFinish {
    /// What a success is.
    type Value;

    /// How the try ended.
    fn into_finish(self) -> Finish<Self::Value>;
}

impl<T> IntoFinish for Finish<T> {
    type Value = T;

    fn into_finish(self) -> Self {
        self
    }
}

impl<T, E: Into<BoxError>> IntoFinish for Result<T, E> {
    type Value = T;

    fn into_finish(self) -> Finish<T> {
        match self {
            Ok(value) => Finish::Done(value),
            Err(error) => Finish::Again(Error::service(error)),
        }
    }
}
