use super::structured::{Member, Number, dictionary};
use super::window;
use crate::hints::Quota;
use crate::hints::fields::Fields;

/// `RateLimit: limit=100, remaining=50, reset=30` (draft 07).
pub(super) fn quota(fields: &Fields<'_>, policies: &[Member<'_>]) -> Option<Quota> {
    let mut quota = Quota::default();
    for member in dictionary(fields.headers, "ratelimit")? {
        let count = member.value.map(Number::count);
        match member.name.as_deref() {
            Some("limit") => quota.limit = count,
            Some("remaining") => quota.remaining = count,
            Some("reset") => quota.reset = member.value.map(Number::seconds),
            _ => {}
        }
    }
    quota.window = window(policies, quota.limit);
    quota.says_something().then_some(quota)
}
