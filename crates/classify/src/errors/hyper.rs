use std::any::Any;
use std::error::Error;

use h2::Reason;
use hyper_util::client::legacy;
use tidegate_core::{Cause, Outcome};

use super::io;

pub(super) fn known(error: &dyn Any) -> Option<&(dyn Error + 'static)> {
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return Some(error);
    }
    let error = error.downcast_ref::<h2::Error>()?;
    Some(error)
}

/// The request itself, or its body, failed on our side.
pub(super) fn is_ours(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_user)
}

pub(super) fn outcome(error: &(dyn Error + 'static)) -> Option<Outcome> {
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        let lost = error.is_canceled() || error.is_closed() || error.is_incomplete_message();
        return if error.is_timeout() {
            Some(Outcome::Overload(Cause::TimedOut))
        } else {
            lost.then_some(Outcome::Overload(Cause::Connection))
        };
    }
    error.downcast_ref().and_then(http2)
}

fn http2(error: &h2::Error) -> Option<Outcome> {
    if let Some(error) = error.get_io() {
        return io::of(error);
    }
    if !error.is_remote() {
        return None;
    }
    match error.reason()? {
        Reason::REFUSED_STREAM | Reason::CANCEL => Some(Outcome::Overload(Cause::Connection)),
        Reason::ENHANCE_YOUR_CALM => Some(Outcome::Overload(Cause::Throttled)),
        Reason::NO_ERROR => Some(Outcome::Ignored),
        _ => None,
    }
}

/// hyper cancels a request only while it still has it whole. h2 gives the error of a `GOAWAY` to the
/// streams above its last id and to those not yet opened, and to no others (RFC 9113 §6.8, §8.7).
pub(super) fn was_never_sent(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<legacy::Error>() {
        return error.is_connect();
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return error.is_canceled();
    }
    error.downcast_ref::<h2::Error>().is_some_and(|error| {
        let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
        error.is_remote() && (refused || error.is_go_away())
    })
}
