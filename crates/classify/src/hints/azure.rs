use super::fields::Fields;
use super::{Hints, openai, retry_after, value};

pub(super) fn read(fields: &Fields<'_>, hints: &mut Hints) {
    hints.retry_after = retry_after::first([
        fields.read("retry-after-ms", value::millis),
        fields.read("x-ms-retry-after-ms", value::millis),
        hints.retry_after,
    ]);
    openai::read_quotas(fields, hints);
}
