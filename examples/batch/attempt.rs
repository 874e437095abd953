use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use reqwest::{Client, Request, Response, StatusCode};
use tidegate::Error;
use tidegate_testkit::Exhausted;
use tokio::time::sleep;
use tower::Service;

use crate::clock::now;
use crate::stack::Stack;

/// How one try ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Succeeded {
        latency: Duration,
    },
    Refused,
    Failed {
        why: String,
    },
    /// It was not sent: this machine had no means to.
    Exhausted(Exhausted),
}

/// From the send to the end of the body.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long others get to give back what this machine ran out of.
const RECOVERY: Duration = Duration::from_millis(500);

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(10);

/// For URLs out there, or for the embedded upstream, which is behind no proxy.
pub(crate) fn client(out_there: bool) -> reqwest::Result<Client> {
    let mut client = Client::builder()
        .timeout(TIMEOUT)
        .pool_idle_timeout(IDLE)
        .user_agent(concat!("tidegate-batch/", env!("CARGO_PKG_VERSION")));
    if !out_there {
        client = client.no_proxy().tls_certs_only([]);
    }
    client.build()
}

/// Sends, and reads the body to its end without keeping it.
pub(crate) async fn attempt(stack: Stack, request: Request) -> Ended {
    let answered = async {
        let mut response = stack.send(request).await?;
        while response.chunk().await.map_err(Error::service)?.is_some() {}
        Ok(response)
    };
    let ended = match answered.await {
        Ok(response) => judge(&response),
        Err(error) => failed(error),
    };
    if matches!(ended, Ended::Exhausted(_)) {
        sleep(RECOVERY).await;
    }
    ended
}

fn judge(response: &Response) -> Ended {
    match response.status() {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Ended::Refused,
        status if status.is_success() => {
            let SentAt(sent) = response.extensions().get().expect("the client has set it");
            Ended::Succeeded {
                latency: now().duration_since(*sent),
            }
        }
        status => Ended::Failed {
            why: format!("answered {status}"),
        },
    }
}

fn failed(error: Error) -> Ended {
    if let Some(exhausted) = Exhausted::find(&error) {
        return Ended::Exhausted(exhausted);
    }
    // Above the root there are only the layers that it came through.
    let why = anyhow::Error::from(error).root_cause().to_string();
    Ended::Failed { why }
}

/// A client that counts what it sends, and whose responses know when their request was sent.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    client: Client,
    sent: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, Debug)]
struct SentAt(Instant);

impl Timed {
    pub(crate) fn new(client: Client) -> Self {
        let sent = Arc::default();
        Self { client, sent }
    }

    /// How many it has sent.
    pub(crate) fn sent(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.sent)
    }
}

impl Service<Request> for Timed {
    type Response = Response;
    type Error = reqwest::Error;
    type Future = Pin<Box<dyn Future<Output = reqwest::Result<Response>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<reqwest::Result<()>> {
        Service::<Request>::poll_ready(&mut self.client, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let sent = SentAt(now());
        self.sent.fetch_add(1, Relaxed);
        let response = self.client.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            response.extensions_mut().insert(sent);
            Ok(response)
        })
    }
}
