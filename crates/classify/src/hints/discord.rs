use super::fields::Fields;
use super::{Hints, github, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let epoch = |bytes: &[u8]| value::seconds(bytes).map(|at| fields.until(at));
    let after = fields.read("x-ratelimit-reset-after", value::seconds);
    if let Some(mut quota) = fields.quota(github::NAMES, epoch) {
        // No clock is needed for this one.
        quota.reset = after.or(quota.reset);
        hints.quotas.push(quota);
    }
    let is_global = fields.text("x-ratelimit-global") == Some("true")
        || fields.text("x-ratelimit-scope") == Some("global");
    hints.scope = match fields.text("x-ratelimit-bucket") {
        _ if is_global => Some("global".into()),
        bucket => bucket.map(Into::into),
    };
}
