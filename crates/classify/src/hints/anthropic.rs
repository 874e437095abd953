use std::collections::BTreeMap;
use std::time::Duration;

use super::fields::Fields;
use super::{Hints, Quota, openai, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let timestamp =
        |bytes: &[u8]| -> Option<Duration> { value::rfc_3339(bytes).map(|at| fields.until(at)) };
    let mut quotas = BTreeMap::<&str, Quota>::new();
    for (name, bytes) in fields.starting_with("anthropic-ratelimit-") {
        let Some((name, field)) = name.rsplit_once('-') else {
            continue;
        };
        match field {
            "limit" => {
                quotas.entry(name).or_default().limit = fields.understood(value::count(bytes));
            }
            "remaining" => {
                quotas.entry(name).or_default().remaining = fields.understood(value::count(bytes));
            }
            "reset" => {
                quotas.entry(name).or_default().reset = fields.understood(timestamp(bytes));
            }
            _ => {}
        }
    }
    hints.quotas.extend(openai::named(quotas));
}
