//! What a request that need not wait pays for what could have happened.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tidegate::{RetryLayer, Units};
use tower::{Layer, Service, service_fn};

fn answer(_: Request<Full<Bytes>>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    ready(Ok(Response::default()))
}

fn allocations(retry: &RetryLayer, request: Request<Full<Bytes>>) -> u64 {
    let mut stack = retry.layer(service_fn(answer));
    let call = stack.call(request);
    let mut call = std::pin::pin!(call);
    let counted = allocation_counter::measure(|| {
        let answer = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(answer, Poll::Ready(Ok(_))));
    });
    counted.count_total
}

/// The number of the attempt is an entry in the extensions, which are a map in a box; the copy is one of
/// the header map, in two vectors, if there are headers.
#[test]
fn the_copy_and_the_number_of_the_attempt_are_all_that_is_allocated() {
    let bare = || {
        Request::get("http://upstream.test/")
            .body(Full::from("low"))
            .unwrap()
    };
    let mut with_header = bare();
    with_header
        .headers_mut()
        .insert("x-tide", "low".parse().unwrap());
    let retry = RetryLayer::exponential(100.ms()..5.s());
    for retry in [
        retry.clone(),
        retry.clone().deadline(30.s()).attempt_timeout(5.s()),
    ] {
        assert_eq!(allocations(&retry, bare()), 3);
        assert_eq!(allocations(&retry, with_header.clone()), 5);
    }
    // Nothing is copied where nothing is sent again.
    assert_eq!(allocations(&retry.attempts(1), with_header), 3);
}
