//! The fields of the IETF's "RateLimit header fields for HTTP", in the three forms that its drafts
//! gave them.

mod dictionary;
mod list;
mod separate;
mod structured;

use std::time::Duration;

use self::structured::Member;
use super::Hints;
use super::fields::Fields;

/// The newest form that says what remains; failing that, the policies.
pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let is_there = |name: &str| fields.headers.contains_key(name);
    let policies = structured::list(fields.headers, "ratelimit-policy");
    if policies.is_none() && is_there("ratelimit-policy") {
        fields.ignore();
    }
    let policies = policies.unwrap_or_default();
    let items = structured::list(fields.headers, "ratelimit").unwrap_or_default();
    let listed = list::quotas(&items, &policies);
    if listed.iter().any(|quota| quota.remaining.is_some()) {
        hints.quotas.extend(listed);
        return;
    }
    let single = dictionary::quota(fields, &policies);
    if single.is_none() && is_there("ratelimit") {
        fields.ignore();
    }
    match single.or_else(|| separate::quota(fields, &policies)) {
        Some(quota) => hints.quotas.push(quota),
        None => hints.quotas.extend(listed),
    }
}

/// The window of the policy with this limit.
fn window(policies: &[Member<'_>], limit: Option<u64>) -> Option<Duration> {
    let same = |policy: &&Member<'_>| limit.is_some() && policy.limit() == limit;
    policies.iter().filter(same).find_map(Member::window)
}
