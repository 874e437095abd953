use std::error::Error as StdError;
use std::{fmt, io, iter};

use crate::Refused;

/// Any error, as tower's own layers use it.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The error of every tidegate layer: a refusal of ours, or what the service below answered.
///
/// Nested layers do not nest it: an `Error` that passes another layer of ours stays as it is.
///
/// ```
/// use tidegate_core::{Error, Refused, RefusedReason};
///
/// fn call() -> Result<(), Error> {
///     Err(Refused::new("gate", RefusedReason::Closed))?
/// }
///
/// let error = call().unwrap_err();
/// assert_eq!(error.refused().unwrap().by, "gate");
/// ```
pub struct Error(Repr);

enum Repr {
    Refused(Box<Refused>),
    Service(BoxError),
}

impl Error {
    /// What the service below answered, flattened: an `Error` inside stays as it is.
    pub fn service(error: impl Into<BoxError>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(ours) => *ours,
            Err(error) => Self(Repr::Service(error)),
        }
    }

    /// The refusal, if a layer of ours said no and nothing was sent.
    ///
    /// Also finds it when other layers wrapped it.
    pub fn refused(&self) -> Option<&Refused> {
        self.find()
    }

    /// The first error of type `E` along the chain of sources.
    ///
    /// ```
    /// use tidegate_core::Error;
    ///
    /// let error = Error::service(std::io::Error::other("reset"));
    /// assert!(error.find::<std::io::Error>().is_some());
    /// ```
    pub fn find<E: StdError + 'static>(&self) -> Option<&E> {
        find(self)
    }

    /// What the service below answered, unless it was a refusal.
    ///
    /// # Errors
    ///
    /// The error itself, if it is a refusal of ours.
    pub fn into_service(self) -> Result<BoxError, Self> {
        match self.0 {
            Repr::Service(error) => Ok(error),
            refused @ Repr::Refused(_) => Err(Self(refused)),
        }
    }

    fn inner(&self) -> &(dyn StdError + 'static) {
        match &self.0 {
            Repr::Refused(refused) => &**refused,
            Repr::Service(error) => &**error,
        }
    }
}

/// The first error of type `E` in a chain.
pub(crate) fn find<'a, E: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a E> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// An error and what caused it, from the outside in.
///
/// Unlike [`source`](StdError::source) it also visits what an [`Error`] and an [`io::Error`] hold:
/// both say what is inside as if it were their own, and pass over it to its source.
///
/// ```
/// use std::io;
/// use tidegate_core::{Error, chain};
///
/// let error = Error::service(io::Error::other("reset"));
/// assert!(chain(&error).any(|error| error.is::<io::Error>()));
/// ```
pub fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |&error| {
        if let Some(ours) = error.downcast_ref::<Error>() {
            return Some(ours.inner());
        }
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(held) => Some(held),
            None => error.source(),
        }
    })
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self(Repr::Refused(Box::new(refused)))
    }
}

impl From<Box<Refused>> for Error {
    fn from(refused: Box<Refused>) -> Self {
        Self(Repr::Refused(refused))
    }
}

/// So that `?` works on reqwest's own calls, such as `response.json().await?`.
#[cfg(feature = "reqwest")]
impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::service(error)
    }
}

/// Says what the inner error says: this type adds nothing of its own, neither to a message nor to a
/// chain of sources, so that a report says each reason once.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.inner(), f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.inner(), f)
    }
}

/// The source is the inner error's; the inner error itself is found with [`find`](Error::find).
impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner().source()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::RefusedReason;

    #[derive(Debug)]
    struct Wrapped(BoxError);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl StdError for Wrapped {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&*self.0)
        }
    }

    fn refused() -> Refused {
        let wait = Duration::from_secs(3);
        Refused::new("rate", RefusedReason::NoRoom).retry_after(Some(wait))
    }

    #[test]
    fn nested_layers_do_not_nest_the_error() {
        let inner: BoxError = Error::from(refused()).into();
        let outer = Error::service(inner);
        assert!(matches!(outer.0, Repr::Refused(_)));
        assert_eq!(outer.refused(), Some(&refused()));
    }

    #[test]
    fn a_refusal_is_found_through_a_foreign_layer() {
        let foreign = Wrapped(Error::from(refused()).into());
        let error = Error::service(foreign);
        assert_eq!(error.refused(), Some(&refused()));
        assert!(error.find::<Wrapped>().is_some());
        assert!(error.find::<io::Error>().is_none());
        assert_eq!(error.to_string(), "wrapped");
    }

    #[test]
    fn a_refusal_is_found_in_an_io_error() {
        let io = io::Error::other(Wrapped(Error::from(refused()).into()));
        assert_eq!(Error::service(io).refused(), Some(&refused()));
    }

    #[test]
    fn a_chain_says_each_reason_once() {
        let io = Error::service(Wrapped(io::Error::other("reset").into()));
        assert_eq!(io.source().unwrap().to_string(), "reset");
        assert!(Error::from(refused()).source().is_none());
    }

    #[test]
    fn a_refusal_is_found_in_any_error() {
        let boxed: BoxError = Wrapped(Error::from(refused()).into()).into();
        assert_eq!(Refused::find(&*boxed), Some(&refused()));
        assert_eq!(Refused::find(&refused()), Some(&refused()));
        assert_eq!(Refused::find(&fmt::Error), None);
    }
}
