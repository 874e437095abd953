use std::error::Error;

use tidegate_core::{Cause, Outcome};

/// A load-shed below us had no room: it is no word of the service's, and nothing was sent.
pub(super) fn is_ours(error: &(dyn Error + 'static)) -> bool {
    error.is::<tower::load_shed::error::Overloaded>()
}

pub(super) fn outcome(error: &(dyn Error + 'static)) -> Option<Outcome> {
    let elapsed =
        error.is::<tower::timeout::error::Elapsed>() || error.is::<tokio::time::error::Elapsed>();
    elapsed.then_some(Outcome::Overload(Cause::TimedOut))
}
