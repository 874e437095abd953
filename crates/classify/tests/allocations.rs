//! Classifying a response allocates nothing, whatever was overruled.

use http::{Method, Request, Response};
use tidegate_classify::{Classify, GrpcClassifier, HttpClassifier};
use tidegate_core::{Cause, Outcome};

fn allocations<C>(classifier: &C, response: &Response<()>) -> u64
where
    C: Classify<Request<()>, Response<()>>,
{
    let request = Request::post("/search/users?q=1").body(()).unwrap();
    let counted = allocation_counter::measure(|| {
        let mut call = classifier.request(&request);
        std::hint::black_box(classifier.response(&mut call, response));
    });
    counted.count_total
}

#[test]
fn a_response_is_classified_without_an_allocation() {
    let throttled = Outcome::Overload(Cause::Throttled);
    let overruled = HttpClassifier::default()
        .throttled([403, 420])
        .header("x-overloaded", throttled)
        .header_is("x-error", "throttled", throttled)
        .with(move |status, _| (status == 418).then_some(throttled))
        .on((Method::POST, "/search"), |search| search.at_capacity(429));
    for status in [200, 403, 429, 503] {
        let response = Response::builder()
            .status(status)
            .header("retry-after", "7")
            .header("grpc-status", "14")
            .body(())
            .unwrap();
        assert_eq!(allocations(&HttpClassifier::default(), &response), 0);
        assert_eq!(allocations(&overruled, &response), 0);
        assert_eq!(allocations(&GrpcClassifier::default(), &response), 0);
    }
}
