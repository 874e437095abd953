use std::time::Duration;

use super::fields::Fields;
use super::{Hints, Quota, value};

pub(super) const NAMES: [&str; 3] = [
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
];

/// "Rate limits" of the X API.
const WINDOW: Duration = Duration::from_secs(15 * 60);

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let epoch = |bytes: &[u8]| value::seconds(bytes).map(|at| fields.until(at));
    hints
        .quotas
        .extend(fields.quota(NAMES, epoch).map(|quota| Quota {
            window: Some(WINDOW),
            ..quota
        }));
}
