//! What a client follows by itself passes no layer of ours; what is followed above them does.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::batch::Batch;
use tidegate::{BoxError, RateLayer, Units, per_second};
use tidegate_testkit::{Response, Upstream};
use tower::ServiceBuilder;
use tower_http::follow_redirect::FollowRedirectLayer;

/// Each request is three: 302, 302, 200.
fn upstream() -> Upstream {
    Upstream::unlimited()
        .respond(|request| match request.uri().path() {
            "/" => Response::redirect(302, "/once"),
            "/once" => Response::redirect(302, "/twice"),
            _ => Response::new(200).body("here"),
        })
        .start_in_process()
}

async fn here<B>(response: Result<http::Response<B>, tidegate::Error>) -> Result<(), BoxError>
where
    B: http_body::Body<Error: Into<BoxError>>,
{
    let body = response?.into_body().collect().await.map_err(Into::into)?;
    assert_eq!(body.to_bytes(), "here");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn each_hop_is_charged_where_redirects_are_followed_above_the_rate() {
    for (above, took, most) in [(true, 2_000, 19), (false, 0, 30)] {
        let upstream = upstream();
        let client: Client<_, Empty<Bytes>> =
            Client::builder(TokioExecutor::new()).build(upstream.connector());
        let rate = RateLayer::new(per_second(10.0).burst(10));
        let requests = (0..10).map(|_| Request::get(upstream.uri()).body(Empty::new()).unwrap());
        let summary = if above {
            let stack = ServiceBuilder::new()
                .layer(FollowRedirectLayer::new())
                .layer(rate)
                .service(client);
            Batch::new(stack, requests)
                .each(|_, response| here(response))
                .run()
                .await
        } else {
            let stack = ServiceBuilder::new()
                .layer(rate)
                .layer(FollowRedirectLayer::new())
                .service(client);
            Batch::new(stack, requests)
                .each(|_, response| here(response))
                .run()
                .await
        };
        assert_eq!(summary.counts.succeeded, 10, "{summary}");
        assert_eq!(summary.took, took.ms());
        assert_eq!(upstream.most_arrivals_in(1.s()), most);
    }
}
