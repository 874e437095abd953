//! What an error says about the service, seen through every layer that wrapped it.
//!
//! | error | outcome |
//! |---|---|
//! | our own [`Refused`]; tower's `Overloaded` of a load-shed | `Ignored`: nothing was sent |
//! | the caller's request or its body (hyper `is_user`, reqwest `is_builder`) | `Ignored` |
//! | tower's and tokio's `Elapsed`, reqwest and hyper `is_timeout`, I/O `TimedOut` | `Overload(TimedOut)` |
//! | I/O: refused, reset, aborted, broken pipe, unexpected end | `Overload(Connection)` |
//! | hyper `is_canceled`, `is_closed`, `is_incomplete_message` | `Overload(Connection)` |
//! | HTTP/2 from the service: `REFUSED_STREAM`, `CANCEL` | `Overload(Connection)` |
//! | HTTP/2 from the service: `ENHANCE_YOUR_CALM` | `Overload(Throttled)` |
//! | HTTP/2 from the service: `NO_ERROR`, such as a connection retired after its share of requests | `Ignored` |
//! | no file descriptor or no port left for a connection of ours | `Overload(Connection)` |
//! | a status made into an error by reqwest | that of the status |
//! | all others: names that do not resolve, certificates, malformed answers, redirects without end | `Failure` |
//!
//! A shortage of ours counts as an overload because the cure is the same: fewer requests in flight.
//!
//! Which crates' errors are known depends on the features: `hyper` (with hyper-util and h2),
//! `reqwest`, `tower` (with tokio's `Elapsed`) and `tower-http`. An error of a crate that is not known
//! is judged by what caused it.

mod io;

#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "tower")]
mod tower;

use std::any::Any;
use std::error::Error;

use tidegate_core::{Outcome, Refused, chain};

/// The outcome of an error, by the table [above](self).
///
/// ```
/// use std::io;
/// use tidegate_classify::errors;
/// use tidegate_core::{Cause, Outcome};
///
/// let reset = io::Error::from(io::ErrorKind::ConnectionReset);
/// assert_eq!(errors::outcome(&reset), Outcome::Overload(Cause::Connection));
/// ```
pub fn outcome(error: &(dyn Error + 'static)) -> Outcome {
    if chain(error).any(is_ours) {
        return Outcome::Ignored;
    }
    chain(error).find_map(said_by).unwrap_or(Outcome::Failure)
}

/// The error of a body, if it is of a type that is known here: hyper's or h2's.
///
/// A body's error need not be an [`Error`], so that a hook on any body gets it as [`Any`].
pub fn known(error: &dyn Any) -> Option<&(dyn Error + 'static)> {
    #[cfg(feature = "hyper")]
    if let Some(error) = hyper::known(error) {
        return Some(error);
    }
    let _ = error;
    None
}

/// Whether it is certain that the service did nothing with the request, so that even one that is not
/// idempotent may be sent again: a refusal of ours, no connection, HTTP/2's `REFUSED_STREAM` and a
/// `GOAWAY` that came before the request's turn. `false` whenever there is a doubt.
///
/// Always `false` for an error of reqwest: it follows redirects, and does not tell whether the
/// connection that was refused came after an answer. (reqwest itself sends again what HTTP/2
/// refused.) The same doubt is in any layer below that follows redirects or retries; and in the
/// error of a body, which follows an answer: do not ask about those.
pub fn not_processed(error: &(dyn Error + 'static)) -> bool {
    !chain(error).any(leaves_a_doubt) && chain(error).any(was_never_sent)
}

/// Whether it is ours or our caller's, and no word of the service's.
fn is_ours(error: &(dyn Error + 'static)) -> bool {
    let ours = error.is::<Refused>();
    #[cfg(feature = "hyper")]
    let ours = ours || hyper::is_ours(error);
    #[cfg(feature = "reqwest")]
    let ours = ours || reqwest::is_ours(error);
    #[cfg(feature = "tower")]
    let ours = ours || tower::is_ours(error);
    ours
}

/// What one error of a chain says, without those that caused it.
fn said_by(error: &(dyn Error + 'static)) -> Option<Outcome> {
    let said = io::outcome(error);
    #[cfg(feature = "hyper")]
    let said = said.or_else(|| hyper::outcome(error));
    #[cfg(feature = "reqwest")]
    let said = said.or_else(|| reqwest::outcome(error));
    #[cfg(feature = "tower")]
    let said = said.or_else(|| tower::outcome(error));
    #[cfg(feature = "tower-http")]
    let said = said.or_else(|| {
        error
            .is::<tower_http::timeout::TimeoutError>()
            .then_some(Outcome::Overload(tidegate_core::Cause::TimedOut))
    });
    said
}

/// Whether something may have been sent, whatever the cause says.
fn leaves_a_doubt(error: &(dyn Error + 'static)) -> bool {
    let doubt = false;
    #[cfg(feature = "hyper")]
    let doubt = doubt || hyper::is_ours(error);
    #[cfg(feature = "reqwest")]
    let doubt = doubt || error.is::<::reqwest::Error>();
    let _ = error;
    doubt
}

fn was_never_sent(error: &(dyn Error + 'static)) -> bool {
    let never = error.is::<Refused>() || io::was_never_sent(error);
    #[cfg(feature = "hyper")]
    let never = never || hyper::was_never_sent(error);
    #[cfg(feature = "tower")]
    let never = never || tower::is_ours(error);
    never
}
