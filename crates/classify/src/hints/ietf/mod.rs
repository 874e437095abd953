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

/// The newest form that says something.
pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let policies = structured::list(fields.headers, "ratelimit-policy");
    let policies = match policies {
        Some(policies) => policies,
        None if fields.headers.contains_key("ratelimit-policy") => fields
            .understood::<Vec<Member<'_>>>(None)
            .unwrap_or_default(),
        None => Vec::new(),
    };
    let items = structured::list(fields.headers, "ratelimit");
    let quotas = list::quotas(items.as_deref().unwrap_or_default(), &policies);
    let says_what_remains = quotas.iter().any(|quota| quota.remaining.is_some());
    if says_what_remains {
        hints.quotas.extend(quotas);
        return;
    }
    let single = dictionary::quota(fields, &policies);
    if items.is_none() && single.is_none() && fields.headers.contains_key("ratelimit") {
        fields.understood::<()>(None);
    }
    match single.or_else(|| separate::quota(fields, &policies)) {
        Some(quota) => hints.quotas.push(quota),
        None => hints.quotas.extend(quotas),
    }
}

/// The window of the policy with this limit.
fn window(policies: &[Member<'_>], limit: Option<u64>) -> Option<Duration> {
    let same = |policy: &&Member<'_>| limit.is_some() && policy.limit() == limit;
    policies.iter().filter(same).find_map(Member::window)
}
