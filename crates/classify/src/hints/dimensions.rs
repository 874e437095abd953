use std::collections::BTreeMap;
use std::time::Duration;

use super::fields::Fields;
use super::{Quota, Unit, value};

/// The quotas of a service that has several, each in three fields; new ones appear without notice,
/// so that any name will do.
///
/// `split` tells which part of what comes after `prefix` is the field, and which the name.
pub(super) fn quotas(
    fields: &Fields<'_>,
    prefix: &'static str,
    split: impl Fn(&str) -> Option<(&str, &str)>,
    reset: impl Fn(&[u8]) -> Option<Duration>,
) -> impl Iterator<Item = Quota> {
    let mut quotas = BTreeMap::<&str, Quota>::new();
    for (rest, bytes) in fields.starting_with(prefix) {
        let Some((field, name)) = split(rest) else {
            continue;
        };
        let quota = quotas.entry(name).or_default();
        match field {
            "limit" => quota.limit = fields.understood(value::count(bytes)),
            "remaining" => quota.remaining = fields.understood(value::count(bytes)),
            "reset" => quota.reset = fields.understood(reset(bytes)),
            _ => {}
        }
    }
    let quotas = quotas.into_iter();
    let quotas = quotas.filter(|(_, quota)| quota.says_something());
    quotas.map(|(name, quota)| Quota {
        name: Some(name.into()),
        unit: Unit::of(name),
        ..quota
    })
}
