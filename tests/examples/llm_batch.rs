//! The example `llm_batch`: its code in process under a paused clock, and the program over sockets.

#[path = "../../examples/llm_batch/batch.rs"]
mod batch;
#[path = "../../examples/llm_batch/chat.rs"]
mod chat;
#[path = "../../examples/llm_batch/model.rs"]
mod model;
#[path = "../../examples/llm_batch/usage.rs"]
mod usage;

use batch::{complete, estimate, run, used};
use chat::prompts;
use http::Request;
use model::{MINUTE, REQUESTS, TOKENS, model};
use serde_json::Value;
use tidegate::{IntoQuota, Pace, Profile, RateLayer, RetryLayer, Units, per};
use tower::Layer;
use usage::Usage;

use crate::output;

const PROMPTS: u32 = 500;

#[tokio::test(start_paused = true)]
async fn both_meters_are_used_and_nobody_is_refused() {
    let model = model().start_in_process();
    let summary = run(model.connector(), model.uri(), prompts(PROMPTS)).await;
    let usage = Usage::new(&model.report(), &summary);
    assert_eq!((usage.succeeded, usage.tries, usage.refused), (500, 500, 0));
    assert!(usage.requests_used >= 0.95, "{usage}");
    assert!(usage.tokens_used >= 0.95, "{usage}");
}

/// Both limits, with buckets that hold so much of a minute.
fn limits(requests: f64, tokens: f64) -> (RateLayer, Pace) {
    let pace = |limit: u32, share| {
        let burst = share * f64::from(limit);
        per(limit.into(), MINUTE).burst(burst as u32)
    };
    let requests = RateLayer::new(pace(REQUESTS, requests));
    (requests, pace(TOKENS, tokens))
}

/// Has a model complete the prompts by that quota.
macro_rules! usage {
    ($quota:expr, $prompts:expr) => {{
        let model = model().start_in_process();
        let retry = RetryLayer::exponential(100.ms()..5.s()).attempts(20);
        let stack = retry.layer($quota.layer(model.direct()));
        let summary = complete(stack, model.uri(), $prompts).await;
        Usage::new(&model.report(), &summary)
    }};
}

/// An estimate has to make room for the longest answer: it is twice as much as is used.
#[tokio::test(start_paused = true)]
async fn without_settling_half_of_both_meters_is_lost() {
    let (requests, tokens) = limits(0.95, 0.95);
    let usage = usage!(requests.and(tokens.cost(estimate)), prompts(PROMPTS));
    assert_eq!((usage.succeeded, usage.refused), (500, 0));
    assert!(usage.requests_used < 0.5, "{usage}");
    assert!(usage.tokens_used < 0.5, "{usage}");
}

#[tokio::test(start_paused = true)]
async fn guesses_of_half_of_what_is_used_are_refused_unless_they_are_settled() {
    let long = || prompts(PROMPTS).filter(|prompt| prompt.length() >= 700);
    let guess = |_: &Request<String>| 850;
    let (requests, tokens) = limits(0.1, 0.1);
    let guessed = usage!(requests.and(tokens.cost(guess)), long());
    assert!(guessed.refused * 10 > guessed.tries, "{guessed}");
    let (requests, tokens) = limits(0.1, 0.1);
    let settled = tokens.cost(guess).settle_body(used);
    let settled = usage!(requests.and(settled), long());
    assert_eq!(settled.refused, 0, "{settled}");
}

/// Its bucket of requests is empty whenever ours is, and it says that this takes a minute to be full.
#[tokio::test(start_paused = true)]
async fn what_the_model_says_about_its_limits_keeps_nobody_from_using_them() {
    let short = || prompts(PROMPTS).filter(|prompt| prompt.length() < 700);
    let (requests, tokens) = limits(1.0, 0.95);
    let both = requests.and(tokens.cost(estimate).settle_body(used));
    let with = usage!(both.hints(Profile::OpenAi), short());
    assert!(with.requests_used >= 0.95, "{with}");
    assert_eq!(with.refused, 0);
}

#[test]
fn llm_batch_completes_every_prompt_and_next_to_none_is_refused() {
    let told = output("llm_batch", &["--prompts=300", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let count = |field: &str| told[field].as_u64().unwrap();
    assert_eq!(count("succeeded"), 300, "{told}");
    assert!(count("refused") * 100 < count("tries"), "{told}");
}
