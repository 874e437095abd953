//! A service of a language model, as the testkit plays it.

use std::time::Duration;

use tidegate::Units;
use tidegate_testkit::{Exponential, Request, Response, Upstream, UpstreamBuilder};

use super::chat::{Choice, Completion, Message, Prompt, Usage};

/// How many requests an account may send in a minute.
pub(crate) const REQUESTS: u32 = 100;
/// How many tokens these may cost.
pub(crate) const TOKENS: u32 = 100_000;
/// A minute at this service, so that the example is over soon.
pub(crate) const MINUTE: Duration = Duration::from_secs(2);

/// Both limits are buckets that hold a minute's worth and fill all the time, as OpenAI's do: its
/// refusals say "Limit 30000, Used 15532, Requested 14655, try again in 374ms", and those 374 ms are the
/// missing 187 tokens at 500 a second.
pub(crate) fn model() -> UpstreamBuilder {
    let per_second = |limit: u32| f64::from(limit) / MINUTE.as_secs_f64();
    let refusal = r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#;
    Upstream::unlimited()
        .rate(per_second(REQUESTS), REQUESTS)
        .tokens(per_second(TOKENS), TOKENS, |request| {
            parse(request).map_or(0, |prompt| prompt.estimate())
        })
        .openai_fields()
        .limit_refusal(Response::new(429).body(refusal))
        .service_time(Exponential(50.ms()))
        .respond(|request| parse(request).map_or(Response::new(400), |prompt| answer(&prompt)))
}

fn parse(request: &Request) -> Option<Prompt> {
    serde_json::from_slice(request.body()).ok()
}

/// Of any length up to 600 tokens.
fn answer(prompt: &Prompt) -> Response {
    let prompt_tokens = prompt.length();
    let completion_tokens = (prompt_tokens * 367) % 601;
    let total_tokens = prompt_tokens + completion_tokens;
    let content = "word".repeat(completion_tokens as usize);
    let completion = Completion {
        choices: vec![Choice {
            message: Message::new("assistant", content),
        }],
        usage: Some(Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens,
        }),
    };
    let body = serde_json::to_string(&completion).expect("it has no map");
    Response::new(200)
        .header("content-type", "application/json")
        .body(body)
        .used(total_tokens)
}
