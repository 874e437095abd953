use futures_util::future::join3;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tidegate_core::Outcome;
use tokio::time::Duration;

use crate::frames::{
    self, CANCEL, ENHANCE_YOUR_CALM, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM, begin, flood,
    go_away, nonsense, ok, reset,
};
use crate::support::{
    CONNECTION, End, IN_DOUBT, THROTTLED, TIMED_OUT, UNTOUCHED, assert_says, get_http2, get_hyper,
    hyper_http2, untouched,
};

#[tokio::test]
async fn a_stream_that_is_reset_says_why() {
    for (code, outcome, not_processed) in [
        (REFUSED_STREAM, CONNECTION, UNTOUCHED),
        (CANCEL, CONNECTION, IN_DOUBT),
        (ENHANCE_YOUR_CALM, THROTTLED, IN_DOUBT),
        (INTERNAL_ERROR, Outcome::Failure, IN_DOUBT),
        (NO_ERROR, Outcome::Ignored, IN_DOUBT),
    ] {
        let address = frames::answer(1, reset(1, code), End::Silence).await;
        for (client, error) in get_http2(&format!("http://{address}/")).await {
            let not_processed = not_processed && untouched(client);
            assert_says(
                &*error,
                outcome,
                not_processed,
                &format!("{client}, {code}"),
            );
        }
    }
}

#[tokio::test]
async fn a_stream_above_the_last_of_a_goaway_was_not_touched() {
    for (code, outcome) in [
        (NO_ERROR, Outcome::Ignored),
        (ENHANCE_YOUR_CALM, THROTTLED),
        (INTERNAL_ERROR, Outcome::Failure),
    ] {
        for end in [End::Silence, End::Close] {
            let address = frames::answer(1, go_away(0, code), end).await;
            for (client, error) in get_http2(&format!("http://{address}/")).await {
                assert_says(
                    &*error,
                    outcome,
                    untouched(client),
                    &format!("{client}, {code}, {end:?}"),
                );
            }
        }
    }
}

#[tokio::test]
async fn of_three_streams_a_goaway_lets_the_first_one_end() {
    for code in [NO_ERROR, ENHANCE_YOUR_CALM] {
        let script = [go_away(1, code), ok(1)].concat();
        let address = frames::answer(3, script, End::Silence).await;
        let (client, url) = (hyper_http2(), format!("http://{address}/"));
        let get = || get_hyper(&client, &url);
        let (one, two, three) = join3(get(), get(), get()).await;
        assert!(one.is_ok(), "{one:?}");
        for error in [two.unwrap_err(), three.unwrap_err()] {
            let outcome = if code == NO_ERROR {
                Outcome::Ignored
            } else {
                THROTTLED
            };
            assert_says(&*error, outcome, UNTOUCHED, &format!("{code}"));
        }
    }
}

#[tokio::test]
async fn a_stream_that_a_goaway_let_go_on_is_in_doubt_when_the_connection_ends() {
    for code in [NO_ERROR, ENHANCE_YOUR_CALM, INTERNAL_ERROR] {
        for end in [End::Close, End::Reset] {
            let address = frames::answer(1, go_away(1, code), end).await;
            for (client, error) in get_http2(&format!("http://{address}/")).await {
                assert_says(
                    &*error,
                    CONNECTION,
                    IN_DOUBT,
                    &format!("{client}, {code}, {end:?}"),
                );
            }
        }
    }
}

#[tokio::test]
async fn a_connection_that_ends_with_streams_open_is_an_overload_in_doubt() {
    for end in [End::Close, End::Reset] {
        for script in [Vec::new(), begin(1)] {
            let address = frames::answer(1, script.clone(), end).await;
            for (client, error) in get_http2(&format!("http://{address}/")).await {
                assert_says(&*error, CONNECTION, IN_DOUBT, &format!("{client}, {end:?}"));
            }
        }
    }
}

/// The client itself closes the connection then, with a `GOAWAY` of its own.
#[tokio::test]
async fn what_is_not_http2_is_a_failure_in_doubt() {
    let address = frames::answer(1, nonsense(), End::Silence).await;
    for (client, error) in get_http2(&format!("http://{address}/")).await {
        assert_says(&*error, Outcome::Failure, IN_DOUBT, client);
    }
}

/// The client's own code for it is `ENHANCE_YOUR_CALM`.
#[tokio::test]
async fn a_service_that_floods_its_client_is_a_failure_and_not_a_throttle() {
    let script = [begin(1), flood(1)].concat();
    let address = frames::answer(1, script, End::Silence).await;
    for (client, error) in get_http2(&format!("http://{address}/")).await {
        assert_says(&*error, Outcome::Failure, IN_DOUBT, client);
    }
}

#[tokio::test]
async fn a_body_that_is_reset_says_why_and_is_in_doubt() {
    for (code, outcome) in [
        (CANCEL, CONNECTION),
        (INTERNAL_ERROR, Outcome::Failure),
        (ENHANCE_YOUR_CALM, THROTTLED),
    ] {
        let script = [begin(1), reset(1, code)].concat();
        let address = frames::answer(1, script, End::Silence).await;
        for (client, error) in get_http2(&format!("http://{address}/")).await {
            assert_says(&*error, outcome, IN_DOUBT, &format!("{client}, {code}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_answers_no_ping_is_a_timeout_in_doubt() {
    let address = frames::answer(1, Vec::new(), End::Silence).await;
    let client = Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .http2_only(true)
        .http2_keep_alive_interval(Duration::from_secs(5))
        .build_http();
    let error = get_hyper(&client, &format!("http://{address}/")).await;
    assert_says(&*error.unwrap_err(), TIMED_OUT, IN_DOUBT, "keep alive");
}
