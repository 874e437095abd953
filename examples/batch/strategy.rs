use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use reqwest::{Request, Response};
use tidegate::{
    Aimd, Door, Error, FeedbackHandle, FeedbackLayer, GateLayer, GovernorLayer, HttpClassifier,
    Pace, ProberLayer, Profile, RateLayer, Steer,
};
use tower::{Layer, Service, ServiceBuilder};

use crate::client::Timed;
use crate::stack::Stack;

/// How the requests are let go.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Strategy {
    /// All at once, each sent once
    None,
    /// At most --limit in flight
    Gate,
    /// At most --rate per second
    Rate,
    /// A limit that grows by one and halves
    Aimd,
    /// A limit that holds the share of failures at 5 %
    Governor,
    /// A limit that is found from nothing
    Prober,
}

/// What a strategy is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) limit: usize,
    pub(crate) rate: Pace,
    pub(crate) retry: bool,
    pub(crate) hints: bool,
}

impl Strategy {
    pub(crate) fn stack(self, client: Timed, told: Told) -> Stack {
        let stack = self.once(client, told);
        if told.retry { stack.retrying() } else { stack }
    }

    /// What each try goes through. Without a law, one that is frozen hears the answers.
    fn once(self, client: Timed, told: Told) -> Stack {
        match self {
            Self::None => {
                let (client, heard) = heard(&GateLayer::new(Door::MAX_LIMIT), client);
                Stack::unlimited(client, Arc::new(heard))
            }
            Self::Gate => {
                let gate = GateLayer::new(told.limit);
                let feedback = frozen(&gate);
                let handle = feedback.handle();
                let client = feedback.layer(client);
                if told.hints {
                    steered(gate.hints(Profile::Ietf), client, handle)
                } else {
                    steered(gate, client, handle)
                }
            }
            Self::Rate => {
                let rate = RateLayer::new(told.rate);
                let handle = rate.handle();
                let (client, heard) = heard(&GateLayer::new(Door::MAX_LIMIT), client);
                let stack = if told.hints {
                    steered(rate.hints(Profile::Ietf), client, handle)
                } else {
                    steered(rate, client, handle)
                };
                stack.heard(Arc::new(heard))
            }
            Self::Aimd => {
                let gate = GateLayer::new(1);
                let feedback =
                    FeedbackLayer::new(HttpClassifier::default(), Aimd::new(), gate.handle());
                let handle = feedback.handle();
                let client = ServiceBuilder::new().layer(feedback).service(client);
                steered(gate, client, handle)
            }
            Self::Governor => {
                let governor = GovernorLayer::new(HttpClassifier::default());
                let handle = governor.handle();
                steered(governor, client, handle)
            }
            Self::Prober => {
                let prober = ProberLayer::new(HttpClassifier::default());
                let handle = prober.handle();
                steered(prober, client, handle)
            }
        }
    }

    /// Of a run.
    pub(crate) fn title(self, requests: usize) -> String {
        format!("{requests} requests, strategy {self}")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gate => "gate",
            Self::Rate => "rate",
            Self::Aimd => "aimd",
            Self::Governor => "governor",
            Self::Prober => "prober",
        }
    }
}

/// Hears what goes through the gate, and leaves it as it is.
fn frozen(gate: &GateLayer) -> FeedbackLayer<HttpClassifier, Aimd> {
    let law = Aimd::new().max(gate.handle().limit()).start(usize::MAX);
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law, gate.handle());
    feedback.handle().freeze();
    feedback
}

/// The client behind a gate whose answers are heard.
fn heard(
    gate: &GateLayer,
    client: Timed,
) -> (
    impl Service<Request, Response = Response, Error = Error, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static,
    FeedbackHandle<Aimd>,
) {
    let feedback = frozen(gate);
    let handle = feedback.handle();
    (gate.layer(feedback.layer(client)), handle)
}

fn steered<L, S>(layer: L, client: S, steer: impl Steer + 'static) -> Stack
where
    L: Layer<S>,
    L::Service:
        Service<Request, Response = Response, Error = Error> + Clone + Send + Sync + 'static,
    <L::Service as Service<Request>>::Future: Send + 'static,
{
    Stack::steered(layer.layer(client), Arc::new(steer))
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
