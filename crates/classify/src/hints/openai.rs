use std::collections::BTreeMap;
use std::time::Duration;

use super::fields::Fields;
use super::{Hints, Quota, Unit, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let mut quotas = BTreeMap::<&str, Quota>::new();
    for (name, bytes) in fields.starting_with("x-ratelimit-") {
        let Some((field, suffix)) = name.split_once('-') else {
            continue;
        };
        match field {
            "limit" => {
                quotas.entry(suffix).or_default().limit = fields.understood(value::count(bytes));
            }
            "remaining" => {
                quotas.entry(suffix).or_default().remaining =
                    fields.understood(value::count(bytes));
            }
            "reset" => {
                quotas.entry(suffix).or_default().reset = fields.understood(reset(bytes));
            }
            _ => {}
        }
    }
    hints.quotas.extend(named(quotas));
}

/// The quotas that say something, with their names.
pub(super) fn named(quotas: BTreeMap<&str, Quota>) -> impl Iterator<Item = Quota> {
    let quotas = quotas.into_iter();
    quotas
        .filter(|(_, quota)| quota.says_something())
        .map(|(name, quota)| Quota {
            name: Some(name.into()),
            unit: Unit::of(name),
            ..quota
        })
}

fn reset(bytes: &[u8]) -> Option<Duration> {
    value::go_duration(bytes).or_else(|| value::seconds(bytes))
}
