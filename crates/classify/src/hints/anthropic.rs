use super::fields::Fields;
use super::{Hints, dimensions, value};

/// `anthropic-ratelimit-input-tokens-reset`
pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    hints.quotas.extend(dimensions::quotas(
        fields,
        "anthropic-ratelimit-",
        |rest| rest.rsplit_once('-').map(|(name, field)| (field, name)),
        |bytes| value::rfc_3339(bytes).map(|at| fields.until(at)),
    ));
}
