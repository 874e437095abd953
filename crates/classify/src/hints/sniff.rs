use std::time::Duration;

use super::fields::Fields;
use super::{Hints, github, value, x};

/// Quotas of more than a day are rare, and their resets are left alone.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let after = fields.read("x-ratelimit-reset-after", |bytes| reset(fields, bytes));
    for names in [github::NAMES, x::NAMES] {
        if let Some(mut quota) = fields.quota(names, |bytes| reset(fields, bytes)) {
            quota.reset = after.or(quota.reset);
            hints.quotas.push(quota);
        }
    }
}

/// Small values are seconds from now; of the others only those are believed that are near now.
fn reset(fields: &Fields<'_>, bytes: &[u8]) -> Option<Duration> {
    let seconds = value::seconds(bytes)?;
    if seconds <= DAY {
        return Some(seconds);
    }
    let at = [seconds, value::millis(bytes)?];
    let at = at.into_iter().find(|at| is_near(fields, *at))?;
    Some(fields.until(at))
}

/// Within a day of now.
pub(super) fn is_near(fields: &Fields<'_>, at: Duration) -> bool {
    at.abs_diff(fields.now()) <= DAY
}
