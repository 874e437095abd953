use super::fields::Fields;
use super::{Hints, github, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let Some(mut quota) = fields.quota(github::NAMES, value::seconds) else {
        return;
    };
    let used = fields.read("x-ratelimit-used", value::count);
    // Reddit does not say its limit, but both parts of it.
    let sum = || Some(used?.saturating_add(quota.remaining?));
    quota.limit = quota.limit.or_else(sum);
    hints.quotas.push(quota);
}
