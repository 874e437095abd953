use std::hint::black_box;

use allocation_counter::measure;
use tidegate_classify::{Hints, Profile};

use crate::support::{NOW, at, headers};

#[test]
fn a_response_without_hints_allocates_nothing() {
    let headers = headers(
        "date: Tue, 14 Nov 2023 22:13:20 GMT\ncontent-type: application/json
content-length: 2\nserver: x\nx-request-id: 7\nx-cache: HIT\nage: 4\nstrict-transport-security: max-age=1",
    );
    for profile in [
        Profile::Ietf,
        Profile::GitHub,
        Profile::OpenAi,
        Profile::Sniff,
    ] {
        let measured = measure(|| {
            black_box(Hints::parse(&headers, at(NOW), profile));
        });
        assert_eq!(measured.count_total, 0);
    }
}

#[test]
fn a_retry_after_alone_allocates_nothing() {
    let headers = headers("retry-after: Tue, 14 Nov 2023 22:13:30 GMT");
    let measured = measure(|| {
        black_box(Hints::parse(&headers, at(NOW), Profile::Ietf));
    });
    assert_eq!(measured.count_total, 0);
}
