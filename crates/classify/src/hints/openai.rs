use std::time::Duration;

use super::fields::Fields;
use super::{Hints, dimensions, value};

/// `x-ratelimit-reset-tokens`
pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
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
