use std::collections::BTreeMap;

use super::structured::{Member, Number};
use crate::hints::Quota;

/// `RateLimit: "burst";r=50;t=30` with `RateLimit-Policy: "burst";q=100;w=60` (drafts 08 and later;
/// before 10 names were not quoted). Also the policies of which no item tells what remains.
pub(super) fn quotas(items: &[Member<'_>], policies: &[Member<'_>]) -> Vec<Quota> {
    let mut policies: BTreeMap<_, _> = policies
        .iter()
        .map(|policy| (key(policy), policy))
        .collect();
    let mut quotas = Vec::new();
    for item in items.iter().filter(|item| item.r.is_some()) {
        let policy = policies.remove(&key(item));
        quotas.push(Quota {
            remaining: item.r.map(Number::count),
            reset: item.t.map(Number::seconds),
            ..quota(policy.unwrap_or(item))
        });
    }
    quotas.extend(policies.into_values().map(quota));
    quotas.retain(Quota::says_something);
    quotas
}

fn key<'m>(member: &'m Member<'_>) -> (Option<&'m str>, Option<u64>) {
    match &member.name {
        Some(name) => (Some(name), None),
        None => (None, member.limit()),
    }
}

fn quota(policy: &Member<'_>) -> Quota {
    Quota {
        name: policy.name.as_deref().map(Into::into),
        limit: policy.limit(),
        window: policy.window(),
        unit: policy.unit,
        ..Quota::default()
    }
}
