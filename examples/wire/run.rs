use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{Error, GovernorLayer, HttpClassifier, ProberLayer, Report, Steer};
use tokio::time::timeout;
use tower::{Layer, Service, ServiceExt};

use crate::figures::Figures;
use crate::heard::Heard;
use crate::law::Law;
use crate::plant::Plant;
use crate::read::Read;
use crate::wire_client::WireClient;

/// So many always ask to send: more than any limit that is tried here.
const CALLERS: usize = 256;

/// One run on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) plant: Plant,
    pub(crate) law: Law,
    pub(crate) client: WireClient,
    pub(crate) seed: u64,
    pub(crate) span: Duration,
}

impl Run {
    /// What came of it, and what the limit did.
    pub(crate) async fn measure(self) -> anyhow::Result<(Figures, Report)> {
        let upstream = self.plant.upstream().seed(self.seed).start_on_thread();
        let governor = GovernorLayer::new(HttpClassifier::default());
        let prober = ProberLayer::new(HttpClassifier::default());
        let steer: Arc<dyn Steer> = match self.law {
            Law::Governor => Arc::new(governor.handle()),
            Law::Prober => Arc::new(prober.handle()),
        };
        let report = Report::attach(&steer);
        let steer = &*steer;
        let figures = match self.client {
            WireClient::Reqwest => {
                let client = reqwest::Client::builder().no_proxy().build()?;
                let url: reqwest::Url = upstream.uri().parse()?;
                let request = || reqwest::Request::new(Method::GET, url.clone());
                match self.law {
                    Law::Governor => self.drive(steer, governor.layer(client), request).await,
                    Law::Prober => self.drive(steer, prober.layer(client), request).await,
                }
            }
            WireClient::HyperUtil => {
                let client = Client::builder(TokioExecutor::new()).build_http();
                let request = http::Request::get(upstream.uri()).body(Empty::<Bytes>::new())?;
                let request = || request.clone();
                match self.law {
                    Law::Governor => self.drive(steer, governor.layer(client), request).await,
                    Law::Prober => self.drive(steer, prober.layer(client), request).await,
                }
            }
        };
        Ok((figures, report))
    }

    /// As many as the layer lets go, each read to its end and followed by the next.
    async fn drive<S, R>(self, steer: &dyn Steer, stack: S, request: impl Fn() -> R) -> Figures
    where
        S: Service<R, Response: Read, Error = Error> + Clone,
    {
        let heard = Arc::new(Heard::default());
        steer.observe(heard.clone());
        let caller = async || -> ! {
            loop {
                // What does not succeed is counted by the layer, and not sent again.
                if let Ok(response) = stack.clone().oneshot(request()).await {
                    response.read().await;
                }
            }
        };
        let mut callers = pin!(join_all((0..CALLERS).map(|_| caller())));
        let _endless = timeout(self.span, &mut callers).await;
        // Before those that are still out are given up.
        heard.over(self.span)
    }
}
