use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioExecutor;
use tidegate::batch::{Batch, Summary};
use tidegate::{IntoQuota, Profile, RateLayer, RetryLayer, Units, per};
use tower::{Service, ServiceBuilder};

use super::chat::{Completion, Prompt};
use super::model::{MINUTE, REQUESTS, TOKENS};

/// Sends all prompts, as fast as the account's two limits allow.
pub(crate) async fn run<C>(
    connector: C,
    uri: &str,
    prompts: impl Iterator<Item = Prompt>,
) -> Summary
where
    C: Connect + Clone + Send + Sync + 'static,
{
    // A little less at once than the service has: its buckets begin to fill when the first request comes
    // there, and ours when it is sent.
    let quota = RateLayer::per(REQUESTS.into(), MINUTE)
        .burst(REQUESTS * 9 / 10)
        .and(
            per(TOKENS.into(), MINUTE)
                .burst(TOKENS * 9 / 10)
                .cost(estimate)
                .settle_body(used),
        )
        .hints(Profile::OpenAi);
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::exponential(100.ms()..5.s()).attempts(5))
        .layer(quota)
        .service(Client::builder(TokioExecutor::new()).build(connector));
    complete(stack, uri, prompts).await
}

/// What is charged when a request is sent: what the model charges then.
pub(crate) fn estimate(request: &Request<String>) -> u32 {
    let prompt = serde_json::from_str(request.body());
    prompt.map_or(0, |prompt: Prompt| prompt.estimate())
}

/// What it did cost, from the body of the answer. One that was refused did cost nothing.
pub(crate) fn used(body: &[u8]) -> Option<u32> {
    let completion: Completion = serde_json::from_slice(body).ok()?;
    Some(completion.usage.map_or(0, |usage| usage.total_tokens))
}

/// Sends them through a stack, and takes the first choice of each answer.
pub(crate) async fn complete<S, B>(
    stack: S,
    uri: &str,
    prompts: impl Iterator<Item = Prompt>,
) -> Summary
where
    S: Service<Request<String>, Response = Response<B>, Error = tidegate::Error>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: std::error::Error + Send + Sync + 'static>,
    B: Send + 'static,
{
    let requests = prompts.map(|prompt| {
        Request::post(format!("{uri}/v1/chat/completions"))
            .header("content-type", "application/json")
            .body(serde_json::to_string(&prompt).expect("it has no map"))
            .expect("it is a URI")
    });
    Batch::new(stack, requests)
        .each(|_, response| async move {
            let response = response?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            ensure!(status.is_success(), "{status}");
            let completion: Completion = serde_json::from_slice(&body)?;
            let choice = completion.choices.into_iter().next();
            Ok(choice.context("no choice")?.message)
        })
        .run()
        .await
}
