use std::error::Error;

use tidegate_core::{Cause, Outcome};

use crate::table;

/// The request could not be made.
pub(super) fn is_ours(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<reqwest::Error>()
        .is_some_and(reqwest::Error::is_builder)
}

pub(super) fn outcome(error: &(dyn Error + 'static)) -> Option<Outcome> {
    let error = error.downcast_ref::<reqwest::Error>()?;
    if error.is_timeout() {
        return Some(Outcome::Overload(Cause::TimedOut));
    }
    error.status().map(table::outcome)
}
