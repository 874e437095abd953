use super::fields::Fields;
use super::{Hints, Quota, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let quota = fields.read("x-shopify-shop-api-call-limit", used_of_limit);
    hints.quotas.extend(quota);
}

/// `32/40`
pub(super) fn used_of_limit(bytes: &[u8]) -> Option<Quota> {
    let slash = bytes.iter().position(|byte| *byte == b'/')?;
    let used = value::count(&bytes[..slash])?;
    let limit = value::count(&bytes[slash + 1..])?;
    Some(Quota {
        limit: Some(limit),
        remaining: Some(limit.saturating_sub(used)),
        ..Quota::default()
    })
}
