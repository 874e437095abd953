//! Redirects that are followed above: each hop is a request to its own host.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{KeyedLayer, RateLayer, Units, per_second};
use tidegate_testkit::{Response, Upstream, most_in};
use tower::{ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::FollowRedirectLayer;

use crate::support::now;

#[tokio::test(start_paused = true)]
async fn each_hop_of_a_redirect_is_charged_to_the_host_that_it_goes_to() {
    let upstream = Upstream::unlimited()
        .key(|head| head.headers["host"].to_str().unwrap().to_owned())
        .respond(|request| match request.uri().path() {
            "/first" => Response::redirect(302, "/second"),
            "/second" => Response::redirect(302, "http://b.example/third"),
            _ => Response::new(200),
        })
        .start_in_process();
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::new())
        .layer(KeyedLayer::per_host(|_| {
            RateLayer::new(per_second(10.0).burst(5))
        }))
        .service(Client::builder(TokioExecutor::new()).build(upstream.connector()));

    let started = now();
    let answers = join_all((0..30).map(|_| {
        let request = Request::get("http://a.example/first").body(Empty::<Bytes>::new());
        stack.clone().oneshot(request.unwrap())
    }));
    for answer in answers.await {
        assert_eq!(answer.unwrap().status(), 200);
    }
    // Two hops of each are a's: 60 tokens, of which 5 were there.
    assert_eq!(now() - started, 5_500.ms());
    for (host, hops) in [("a.example", 60), ("b.example", 30)] {
        let arrivals = upstream.arrivals();
        let of_host = arrivals.iter().filter(|arrival| &*arrival.key == host);
        let times: Vec<_> = of_host.map(|arrival| arrival.at).collect();
        assert_eq!(times.len(), hops, "{host}");
        assert!(most_in(1.s(), times) < 10 + 5, "{host}");
    }
}
