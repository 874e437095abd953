//! No file descriptor is left. In a process of its own, since the limit is one of the process.

#![cfg(unix)]

use std::fs::File;

use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rlimit::Resource;
use tidegate_classify::errors;
use tidegate_core::{Cause, Outcome};

#[tokio::test]
async fn no_file_left_for_a_connection_is_an_overload_and_nothing_was_sent() {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let (_, hard) = Resource::NOFILE.get().unwrap();
    Resource::NOFILE.set(64, hard).unwrap();
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    let answer = client.get("http://127.0.0.1:1/".parse().unwrap()).await;
    drop(files);
    let error = answer.unwrap_err();
    let overload = Outcome::Overload(Cause::Connection);
    assert_eq!(errors::outcome(&error), overload, "{error:?}");
    assert!(errors::not_processed(&error), "{error:?}");
}
