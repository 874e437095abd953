//! What a hook costs.

use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Waker};

use allocation_counter::measure;
use http::Response;
use http_body::Body;
use http_body_util::{Empty, Full};
use tidegate_body::{AttachHook, End};

#[test]
fn hooks_on_an_http_response_allocate_nothing() {
    let mut ended = 0;
    let allocations = measure(|| {
        let response = Response::new(Full::new(&b"body"[..]))
            .attach_hook(|_: End<'_>| ended += 1)
            .attach_hook(|_: End<'_>| ());
        let mut body = response.into_body();
        let next = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(black_box(next).is_ready());
    });
    assert_eq!((ended, allocations.count_total), (1, 0));

    let allocations = measure(|| {
        black_box(Response::new(Empty::<&[u8]>::new()).attach_hook(|_: End<'_>| ended += 1));
    });
    assert_eq!((ended, allocations.count_total), (2, 0));
}

#[cfg(feature = "reqwest")]
#[test]
fn hooks_after_the_first_on_a_reqwest_response_allocate_once() {
    let mut response = reqwest::Response::from(Response::new("body"));
    // As in a response from the wire, there are extensions already.
    response.extensions_mut().insert(());
    for allocations in [9, 1, 1] {
        let mut hooked = None;
        let measured = measure(|| hooked = Some(response.attach_hook(|_: End<'_>| ())));
        assert_eq!(measured.count_total, allocations);
        response = hooked.unwrap();
    }
}
