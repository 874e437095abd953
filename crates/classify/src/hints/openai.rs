use std::time::Duration;

use super::fields::Fields;
use super::{Hints, dimensions, retry_after, value};

/// As its SDKs do, which read the milliseconds first.
pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    let millis = fields.read("retry-after-ms", value::millis);
    hints.retry_after = retry_after::first([millis, hints.retry_after]);
    read_quotas(fields, hints);
}

/// `x-ratelimit-reset-tokens`
pub(super) fn read_quotas(fields: &Fields<'_>, hints: &mut Hints) {
    hints.quotas.extend(dimensions::quotas(
        fields,
        "x-ratelimit-",
        |rest| rest.split_once('-'),
        reset,
    ));
}

fn reset(bytes: &[u8]) -> Option<Duration> {
    value::go_duration(bytes).or_else(|| value::seconds(bytes))
}
