use super::fields::Fields;
use super::{Hints, value};

pub(super) const NAMES: [&str; 3] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let epoch = |bytes: &[u8]| value::seconds(bytes).map(|at| fields.until(at));
    hints.quotas.extend(fields.quota(NAMES, epoch));
    hints.scope = fields.text("x-ratelimit-resource").map(Into::into);
}
