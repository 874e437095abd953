use std::time::Duration;

use super::fields::Fields;
use super::{Hints, Quota, shopify};

const WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    for line in fields.headers.get_all("sforce-limit-info") {
        let parts = line.as_bytes().split(|byte| matches!(byte, b';' | b','));
        let quotas = parts.filter_map(|part| fields.understood(quota(part)));
        hints.quotas.extend(quotas);
    }
}

/// `api-usage=18/5000` or `per-app-api-usage=17/250(appName=x)`
fn quota(part: &[u8]) -> Option<Quota> {
    let equals = part.iter().position(|byte| *byte == b'=')?;
    let name = str::from_utf8(part[..equals].trim_ascii()).ok()?;
    let usage = part[equals + 1..].split(|byte| *byte == b'(').next()?;
    Some(Quota {
        name: Some(name.into()),
        window: Some(WINDOW),
        ..shopify::used_of_limit(usage)?
    })
}
