use std::time::Duration;

use super::fields::Fields;
use super::{Hints, retry_after, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    // gRFC A6: a pushback that is negative, or no number, asks not to try again.
    let pushback = |bytes: &[u8]| value::millis(bytes).or(Some(Duration::MAX));
    hints.retry_after = retry_after::first([
        fields.read("grpc-retry-pushback-ms", pushback),
        hints.retry_after,
    ]);
}
