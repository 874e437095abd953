use std::any::Any;
use std::error::Error;
use std::io;

use http::HeaderMap;

/// How a body ended.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// It was read to its end, which came with these trailers if it had any.
    Complete(Option<&'a HeaderMap>),
    /// It failed with this error, of the body's own error type.
    ///
    /// It is not a `dyn Error`, because the commonest body error, `Box<dyn Error + Send + Sync>`,
    /// does not implement that trait. See [`End::error`].
    Failed(&'a dyn Any),
    /// It was dropped before its end.
    Dropped,
}

impl<'a> End<'a> {
    /// The body's error, if it failed with one of a type that is known here: a
    /// `Box<dyn Error + Send + Sync>`, an `io::Error` or, with the feature `reqwest`, a
    /// `reqwest::Error`.
    ///
    /// ```
    /// use std::error::Error;
    /// use std::io;
    /// use tidegate_body::End;
    ///
    /// let error: Box<dyn Error + Send + Sync> = io::Error::other("reset").into();
    /// assert!(End::Failed(&error).error().is_some_and(|error| error.is::<io::Error>()));
    /// assert!(End::Dropped.error().is_none());
    /// ```
    pub fn error(&self) -> Option<&'a (dyn Error + 'static)> {
        let Self::Failed(error) = *self else {
            return None;
        };
        if let Some(error) = error.downcast_ref::<Box<dyn Error + Send + Sync>>() {
            return Some(&**error);
        }
        #[cfg(feature = "reqwest")]
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return Some(error);
        }
        let error = error.downcast_ref::<io::Error>()?;
        Some(error)
    }
}
