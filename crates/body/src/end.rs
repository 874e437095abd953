use std::any::Any;
use std::error::Error;

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
    /// The error of type `E`, if the body failed with it.
    ///
    /// Where the body's error is a `Box<dyn Error + Send + Sync>`, it is looked for in the box and
    /// along the chain of its sources. Another error type is found as what it is, not searched.
    ///
    /// ```
    /// use std::error::Error;
    /// use std::io;
    /// use tidegate_body::End;
    ///
    /// let error: Box<dyn Error + Send + Sync> = io::Error::other("reset").into();
    /// assert!(End::Failed(&error).error::<io::Error>().is_some());
    /// assert!(End::Dropped.error::<io::Error>().is_none());
    /// ```
    pub fn error<E: Error + 'static>(&self) -> Option<&'a E> {
        let Self::Failed(error) = *self else {
            return None;
        };
        error.downcast_ref().or_else(|| {
            let boxed = error.downcast_ref::<Box<dyn Error + Send + Sync>>()?;
            let mut next: Option<&'a (dyn Error + 'static)> = Some(&**boxed);
            while let Some(error) = next {
                if let Some(found) = error.downcast_ref() {
                    return Some(found);
                }
                next = error.source();
            }
            None
        })
    }
}
