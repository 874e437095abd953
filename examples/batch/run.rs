use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Method, Request, Response, StatusCode};
use tidegate::{Batch, Error};
use tidegate_testkit::Exhausted;
use tokio::time::sleep;

use crate::client::SentAt;
use crate::clock::now;
use crate::progress::Shown;
use crate::stack::Stack;
use crate::tally::Tally;
use crate::urls::Urls;

/// How long others get to give back what this machine ran out of.
const RECOVERY: Duration = Duration::from_millis(500);

/// Sends them all, `most` at once at the most.
pub(crate) async fn run(
    stack: Stack,
    urls: Urls,
    requests: usize,
    most: usize,
    shown: Shown,
) -> Tally {
    let of = urls.clone();
    let requests = (0..requests).map(move |index| Request::new(Method::GET, of.of(index).clone()));
    let mut batch = Batch::new(stack.service, requests)
        .window(most)
        .again(stack.retries, Request::try_clone)
        .progress(shown);
    if let Some(steer) = stack.steer {
        batch = batch.steer(steer);
    }
    let mut results = batch.each(|_, answer| read(answer));
    let mut tally = Tally::new();
    while let Some(ended) = results.next().await {
        tally.ended(&ended.result, urls.of(ended.index));
    }
    tally.took = results.into_summary().took;
    tally
}

/// Reads the body to its end without keeping it, and tells how long that took from the send.
async fn read(answer: Result<Response, Error>) -> Result<Duration, Error> {
    if let Err(error) = &answer
        && Exhausted::find(error).is_some()
    {
        sleep(RECOVERY).await;
    }
    let mut response = answer?;
    while response.chunk().await?.is_some() {}
    let status = response.status();
    if !status.is_success() {
        return Err(Error::service(Answered(status)));
    }
    let SentAt(sent) = response.extensions().get().expect("the client has set it");
    Ok(now().duration_since(*sent))
}

/// With something else than a success.
#[derive(Debug)]
pub(crate) struct Answered(StatusCode);

impl Answered {
    /// Whether the upstream had no room for it.
    pub(crate) fn refuses(&self) -> bool {
        matches!(
            self.0,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        )
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answered {}", self.0)
    }
}

impl std::error::Error for Answered {}
