//! An outage of half a minute under 500 requests per second: how much load retries add to it, and how
//! soon all is well after it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use reqwest_middleware::{ClientBuilder, Next};
use reqwest_retry::policies::ExponentialBackoff as ReqwestBackoff;
use reqwest_retry::{Jitter as ReqwestJitter, RetryTransientMiddleware};
use tidegate::{RetryLayer, Units};
use tidegate_testkit::{Body, Direct, Fixed, Upstream};
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use tower::retry::Policy;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::util::rng::HasherRng;
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::common::{arrivals, get};
use crate::support::now;

const TABLE: &str = include_str!("../../crates/retry/src/storm.md");

const PER_SECOND: u64 = 500;
const BEFORE: Duration = Duration::from_secs(10);
const OUTAGE: Duration = Duration::from_secs(30);
const AFTER: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 4;
const DELAYS: std::ops::Range<Duration> = Duration::from_millis(100)..Duration::from_secs(5);

/// Sends one request through whatever retries; whether it came to a success.
type Send = Arc<dyn Fn() -> BoxFuture<'static, bool> + std::marker::Send + Sync>;

#[derive(Debug)]
struct Outcome {
    /// Attempts during the outage beyond the requests that began in it, per such request.
    extra: f64,
    /// The same in its last 20 seconds, when what was saved before is spent.
    extra_later: f64,
    /// After how many seconds 99 of 100 requests that begin within a second succeed, for good.
    recovered_after: usize,
}

/// 600 a second at most, and 100 may wait.
fn upstream() -> Upstream {
    let upstream = Upstream::workers(6).queue(100).service_time(Fixed(10.ms()));
    upstream.log(1_000_000).start_in_process()
}

async fn storm(upstream: &Upstream, before: Duration, send: Send) -> Outcome {
    let started = now();
    let total = (before + OUTAGE + AFTER).as_secs() * PER_SECOND;
    let mut calls = JoinSet::new();
    for nth in 0..total {
        let begins = Duration::from_secs(1) * nth as u32 / PER_SECOND as u32;
        sleep_until(started + begins).await;
        if begins == before {
            upstream.set_capacity(0.0);
        }
        if begins == before + OUTAGE {
            upstream.set_capacity(1.0);
        }
        let call = send();
        calls.spawn(async move { (begins.as_secs() as usize, call.await) });
    }
    let mut succeeded = vec![0; (before + OUTAGE + AFTER).as_secs() as usize];
    while let Some(ended) = calls.join_next().await {
        let (second, success) = ended.unwrap();
        succeeded[second] += usize::from(success);
    }
    outcome(before, &arrivals(upstream), &succeeded)
}

fn outcome(before: Duration, arrivals: &[Duration], succeeded: &[usize]) -> Outcome {
    let (begin, end) = (
        before.as_secs() as usize,
        (before + OUTAGE).as_secs() as usize,
    );
    let mut per_second = vec![0; end + AFTER.as_secs() as usize + 60];
    arrivals
        .iter()
        .for_each(|at| per_second[at.as_secs() as usize] += 1);
    let extra = |seconds: std::ops::Range<usize>| {
        let originals = seconds.len() * PER_SECOND as usize;
        let sent: usize = per_second[seconds].iter().sum();
        (sent - originals) as f64 / originals as f64
    };
    let good = |count: &usize| *count as f64 >= 0.99 * PER_SECOND as f64;
    let bad_second = succeeded[end..].iter().rposition(|count| !good(count));
    Outcome {
        extra: extra(begin..end),
        extra_later: extra(begin + 10..end),
        recovered_after: bad_second.map_or(0, |second| second + 1),
    }
}

fn ours(direct: Direct) -> Send {
    let retry = RetryLayer::exponential(DELAYS).attempts(ATTEMPTS);
    let stack = retry.layer(direct);
    Arc::new(move || {
        let answer = stack.clone().oneshot(get());
        async { answer.await.is_ok_and(|response| response.status() == 200) }.boxed()
    })
}

fn our_policy(direct: Direct) -> Send {
    let retry = RetryLayer::exponential(DELAYS).attempts(ATTEMPTS);
    let stack = ServiceBuilder::new().retry(retry.policy()).service(direct);
    Arc::new(move || {
        let answer = stack.clone().oneshot(get());
        async { answer.await.is_ok_and(|response| response.status() == 200) }.boxed()
    })
}

/// As the documentation of `tower::retry::budget` has it.
#[derive(Clone)]
struct Towers {
    budget: Option<Arc<TpsBudget>>,
    backoff: ExponentialBackoff,
    retries: u32,
}

impl<E> Policy<Request<Full<Bytes>>, Response<Body>, E> for Towers {
    type Future = <ExponentialBackoff as Backoff>::Future;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        answer: &mut Result<Response<Body>, E>,
    ) -> Option<Self::Future> {
        if answer
            .as_ref()
            .is_ok_and(|response| response.status() == 200)
        {
            self.budget.iter().for_each(|budget| budget.deposit());
            return None;
        }
        self.retries += 1;
        let is_last = self.retries >= ATTEMPTS;
        let may = || self.budget.as_ref().is_none_or(|budget| budget.withdraw());
        (!is_last && may()).then(|| self.backoff.next_backoff())
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

fn towers(budget: Option<TpsBudget>) -> impl Fn(Direct) -> Send {
    let budget = budget.map(Arc::new);
    move |direct| {
        let (min, max) = (DELAYS.start, DELAYS.end);
        let backoff = ExponentialBackoffMaker::new(min, max, 0.99, HasherRng::default());
        let policy = Towers {
            budget: budget.clone(),
            backoff: backoff.unwrap().make_backoff(),
            retries: 0,
        };
        let stack = ServiceBuilder::new().retry(policy).service(direct);
        Arc::new(move || {
            let answer = stack.clone().oneshot(get());
            async { answer.await.is_ok_and(|response| response.status() == 200) }.boxed()
        })
    }
}

/// A middleware that is the client: it asks the upstream without a socket, so that time stands still.
fn client<F>(closure: F) -> F
where
    F: for<'a> Fn(
        reqwest::Request,
        &'a mut Extensions,
        Next<'a>,
    ) -> BoxFuture<'a, reqwest_middleware::Result<reqwest::Response>>,
{
    closure
}

fn reqwest_retry(direct: Direct) -> Send {
    let backoff = ReqwestBackoff::builder()
        .retry_bounds(DELAYS.start, DELAYS.end)
        .jitter(ReqwestJitter::Full)
        .build_with_max_retries(ATTEMPTS - 1);
    let without_sockets = client(move |_, _, _| {
        let direct = direct.clone();
        async move {
            let answer = direct.oneshot(get()).await;
            let response = answer.map_err(reqwest_middleware::Error::middleware)?;
            let response = Response::builder().status(response.status());
            Ok(response.body("").expect("a response").into())
        }
        .boxed()
    });
    let stack = ClientBuilder::new(crate::loopback::reqwest_client().build().unwrap())
        .with(RetryTransientMiddleware::new_with_policy(backoff))
        .with(without_sockets)
        .build();
    Arc::new(move || {
        let answer = stack.get("http://upstream.test/").send();
        async { answer.await.is_ok_and(|response| response.status() == 200) }.boxed()
    })
}

async fn row(table: &mut String, name: &str, stack: impl Fn(Direct) -> Send) -> Outcome {
    let upstream = upstream();
    let outcome = storm(&upstream, BEFORE, stack(upstream.direct())).await;
    let Outcome {
        extra,
        extra_later,
        recovered_after,
    } = &outcome;
    let (extra, later) = (percent(*extra), percent(*extra_later));
    let cells = [
        name,
        &extra,
        &later,
        if *recovered_after <= 5 { "yes" } else { "no" },
    ];
    *table += &["| ", &cells.join(" | "), " |\n"].concat();
    outcome
}

/// Whole percents, or of much whole hundreds: chance does not reach them.
fn percent(share: f64) -> String {
    let step = if share < 1.0 { 1.0 } else { 100.0 };
    format!("{:.0} %", (share * 100.0 / step).round() * step)
}

#[tokio::test(start_paused = true)]
async fn an_outage_costs_the_budget_and_no_more() -> Result<(), Infallible> {
    let mut table = String::from(
        "| retries by | more attempts | in its last 20 s | 99 % succeed 5 s after it |\n\
         |---|---|---|---|\n",
    );
    let rows = &mut table;
    let ours = row(rows, "`RetryLayer`", ours).await;
    let policy = row(rows, "`RetryPolicy` under `tower::retry`", our_policy).await;
    let tps = towers(Some(TpsBudget::default()));
    row(rows, "`tower::retry`, `TpsBudget`", tps).await;
    let unbounded = row(rows, "`tower::retry`, no budget", towers(None)).await;
    let reqwest_retry = row(rows, "reqwest-retry 0.9", reqwest_retry).await;
    assert!(TABLE.contains(&table), "it is now:\n{table}");
    // What all of this is for.
    assert!(unbounded.extra > 2.9 && reqwest_retry.extra > 2.9);

    for outcome in [ours, policy] {
        // A fifth of the requests of the outage and of the ten seconds before, and the reserve.
        let originals = (PER_SECOND * OUTAGE.as_secs()) as f64;
        let saved = (PER_SECOND * BEFORE.as_secs()) as f64;
        let most = 0.2 * (originals + saved) + 10.0 * (OUTAGE.as_secs() as f64 + 10.0);
        assert!(outcome.extra * originals <= most, "{outcome:?}");
        // A second of the budget more than there are: it counts whole ones.
        let later = 20.0 * PER_SECOND as f64;
        let most = 0.2 * later + 10.0 * (20.0 + 1.0);
        assert!(outcome.extra_later * later <= most, "{outcome:?}");
        assert!(outcome.recovered_after <= 5, "{outcome:?}");
    }
    Ok(())
}

/// Nothing was saved before: a fifth of the requests, ten seconds of the reserve, and what came back of it.
#[tokio::test(start_paused = true)]
async fn an_outage_from_the_first_request_on_costs_the_share_and_the_reserve() {
    let upstream = upstream();
    let outcome = storm(&upstream, Duration::ZERO, ours(upstream.direct())).await;
    let originals = (PER_SECOND * OUTAGE.as_secs()) as f64;
    let most = 0.2 * originals + 10.0 * (10.0 + OUTAGE.as_secs() as f64);
    let extra = outcome.extra * originals;
    assert!(extra <= most && extra > 0.2 * originals, "{extra}");
    assert!(outcome.recovered_after <= 5, "{outcome:?}");
}
