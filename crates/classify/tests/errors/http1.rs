use std::io;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tidegate_classify::{Classify, HttpClassifier, Verdict, errors};
use tidegate_core::{BoxError, Outcome};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Duration;

use crate::support::{
    CONNECTION, End, IN_DOUBT, THROTTLED, TIMED_OUT, UNTOUCHED, answer, assert_says, get,
    get_reqwest, hyper, refused_port, reqwest_builder, serve, untouched,
};

#[tokio::test]
async fn a_port_where_nobody_listens_is_an_overload_and_nothing_was_sent() {
    for (client, error) in get(&format!("http://{}/", refused_port())).await {
        assert_says(&*error, CONNECTION, untouched(client), client);
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_head_is_an_overload_in_doubt() {
    for head in ["", "HTTP/1.1 200"] {
        for end in [End::Close, End::Reset] {
            let address = answer(head, end).await;
            for (client, error) in get(&format!("http://{address}/")).await {
                let case = format!("{client}, {end:?} after {head:?}");
                assert_says(&*error, CONNECTION, IN_DOUBT, &case);
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_is_cut_short_is_an_overload_in_doubt() {
    let of_known_length = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfour";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n8\r\n";
    for response in [of_known_length, chunked] {
        for end in [End::Close, End::Reset] {
            let address = answer(response, end).await;
            for (client, error) in get(&format!("http://{address}/")).await {
                let case = format!("{client}, {end:?} after {response:?}");
                assert_says(&*error, CONNECTION, IN_DOUBT, &case);
            }
        }
    }
}

#[tokio::test]
async fn a_body_of_hypers_fails_with_an_error_that_is_known() {
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ntide";
    let uri = format!("http://{}/", answer(short, End::Close).await);
    let response = hyper().get(uri.parse().unwrap()).await.unwrap();
    let error = response.into_body().collect().await.unwrap_err();
    let known = errors::known(&error).expect("it is known");
    assert_eq!(errors::outcome(known), CONNECTION);
    assert!(errors::known(&"tide").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_reqwest_is_an_overload_in_doubt() {
    for response in ["", "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfour"] {
        let address = answer(response, End::Silence).await;
        let client = reqwest_builder().timeout(Duration::from_secs(5));
        let client = client.build().unwrap();
        let error = get_reqwest(&client, &format!("http://{address}/")).await;
        assert_says(&*error.unwrap_err(), TIMED_OUT, IN_DOUBT, response);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_there_in_time_is_a_timeout() {
    let silent = serve(|stream| End::Silence.of(stream)).await;
    let client = reqwest_builder().connect_timeout(Duration::from_secs(5));
    let client = client.build().unwrap();
    let error = get_reqwest(&client, &format!("https://{silent}/")).await;
    assert_says(&*error.unwrap_err(), TIMED_OUT, IN_DOUBT, "a TLS handshake");
}

#[tokio::test]
async fn a_request_that_its_connection_never_took_is_an_overload_and_was_not_sent() {
    let address = answer("", End::Close).await;
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut requests, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    let queued = requests.send_request(http::Request::new(Empty::<Bytes>::new()));
    drop(connection);
    let error = queued.await.unwrap_err();
    assert!(error.is_canceled());
    assert_says(&error, CONNECTION, UNTOUCHED, "canceled");

    let error = requests.ready().await.unwrap_err();
    assert!(error.is_closed());
    assert_says(&error, CONNECTION, IN_DOUBT, "closed");
}

#[tokio::test]
async fn what_is_not_http_is_a_failure() {
    let address = answer("220 mail.example ESMTP\r\n\r\n", End::Close).await;
    for (client, error) in get(&format!("http://{address}/")).await {
        assert_says(&*error, Outcome::Failure, IN_DOUBT, client);
    }
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_failure_and_nothing_was_sent() {
    // Longer than a label may be, so that no resolver is asked.
    let name = "a".repeat(64);
    for (client, error) in get(&format!("http://{name}.invalid/")).await {
        assert_says(&*error, Outcome::Failure, untouched(client), client);
    }
}

#[tokio::test]
async fn a_service_that_speaks_no_tls_is_a_failure() {
    let address = serve(|mut stream| async move {
        let plain = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        stream.write_all(plain).await.unwrap();
        End::Silence.of(stream).await;
    })
    .await;
    let client = reqwest_builder().build().unwrap();
    let error = get_reqwest(&client, &format!("https://{address}/")).await;
    assert_says(
        &*error.unwrap_err(),
        Outcome::Failure,
        IN_DOUBT,
        "plain text",
    );
}

#[tokio::test]
async fn a_request_body_that_fails_is_the_callers_and_was_sent_in_part() {
    let address = answer("", End::Silence).await;
    let url = format!("http://{address}/");
    // The error of a connection to somebody else.
    let chunks = || {
        stream::iter([
            Ok(Bytes::from_static(b"four")),
            Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
        ])
    };

    let body = StreamBody::new(chunks().map(|chunk| chunk.map(Frame::data)));
    let request = http::Request::post(&url).body(body).unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http();
    let error: BoxError = client.request(request).await.unwrap_err().into();
    assert_says(&*error, Outcome::Ignored, IN_DOUBT, "hyper");

    let body = reqwest::Body::wrap_stream(chunks());
    let client = reqwest_builder().build().unwrap();
    let error = client.post(&url).body(body).send().await.unwrap_err();
    assert_says(&error, Outcome::Ignored, IN_DOUBT, "reqwest");
}

#[tokio::test]
async fn a_request_that_cannot_be_made_is_the_callers() {
    let client = reqwest_builder().build().unwrap();
    let error = client.get("ftp://127.0.0.1/").send().await.unwrap_err();
    assert_says(&error, Outcome::Ignored, IN_DOUBT, "a scheme");
}

#[tokio::test]
async fn redirects_without_end_are_a_failure() {
    let again = "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n";
    let address = answer(again, End::Close).await;
    let client = reqwest_builder().build().unwrap();
    let error = get_reqwest(&client, &format!("http://{address}/")).await;
    assert_says(&*error.unwrap_err(), Outcome::Failure, IN_DOUBT, "a loop");
}

/// A `POST` that was done, and a way on that ends nowhere.
#[tokio::test]
async fn a_redirect_to_a_port_where_nobody_listens_is_in_doubt() {
    let nobody = refused_port();
    let address = serve(move |mut stream| async move {
        let head = format!(
            "HTTP/1.1 303 See Other\r\nlocation: http://{nobody}/\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        End::Silence.of(stream).await;
    })
    .await;
    let client = reqwest_builder().build().unwrap();
    let error = client.post(format!("http://{address}/")).send().await;
    assert_says(&error.unwrap_err(), CONNECTION, IN_DOUBT, "refused");
}

#[tokio::test]
async fn a_status_that_was_made_an_error_says_what_the_status_says() {
    let head = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    let address = answer(head, End::Close).await;
    let response = reqwest_builder().build().unwrap();
    let response = response.get(format!("http://{address}/")).send().await;
    let error = response.unwrap().error_for_status().unwrap_err();
    assert_says(&error, Outcome::Ignored, IN_DOUBT, "404");
}

#[tokio::test]
async fn the_heads_of_reqwest_are_read_like_those_of_http() {
    let head = "HTTP/1.1 403 Forbidden\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    let address = answer(head, End::Close).await;
    let classifier = HttpClassifier::default().on("/search", |search| search.throttled(403));
    let client = reqwest_builder().build().unwrap();
    let wait = Some(Duration::from_secs(7));
    for (path, outcome) in [("search?q=1", THROTTLED), ("users", Outcome::Ignored)] {
        let request = client.get(format!("http://{address}/{path}")).build();
        let request = request.unwrap();
        let mut call = Classify::<_, reqwest::Response>::request(&classifier, &request);
        let response = client.execute(request).await.unwrap();
        let when = Classify::<reqwest::Request, _>::response(&classifier, &mut call, &response);
        assert_eq!(
            when,
            Verdict::from(outcome).retry_after(wait).into(),
            "{path}"
        );
    }
}
