use std::time::Duration;

use super::structured::{Member, list};
use super::window;
use crate::hints::fields::Fields;
use crate::hints::{Quota, sniff, value};

/// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (drafts up to 06). The limit may be
/// followed by its policies: `100, 100;w=60`.
pub(super) fn quota(fields: &Fields<'_>, policies: &[Member<'_>]) -> Option<Quota> {
    let limits = list(fields.headers, "ratelimit-limit").unwrap_or_default();
    let first = limits.first().and_then(Member::limit);
    let limit = fields.read("ratelimit-limit", |bytes| value::count(bytes).or(first));
    let quota = Quota {
        limit,
        remaining: fields.read("ratelimit-remaining", value::count),
        reset: fields.read("ratelimit-reset", |bytes| reset(fields, bytes)),
        window: window(&limits, limit).or_else(|| window(policies, limit)),
        ..Quota::default()
    };
    quota.says_something().then_some(quota)
}

/// Seconds from now. GitLab sends an epoch under this name: no window is fifty years long, so what
/// would be near now as an epoch is one.
fn reset(fields: &Fields<'_>, bytes: &[u8]) -> Option<Duration> {
    let seconds = value::seconds(bytes)?;
    Some(if sniff::is_near(fields, seconds) {
        fields.until(seconds)
    } else {
        seconds
    })
}
