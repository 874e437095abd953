use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use reqwest::{Client, Request, Response};
use tidegate::{
    Aimd, Error, FeedbackLayer, GateLayer, GovernorLayer, HttpClassifier, Pace, ProberLayer,
    Profile, RateLayer, Steer,
};
use tower::{Layer, Service, ServiceBuilder};

use crate::attempt::Timed;
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
    pub(crate) fn stack(self, client: Client, told: Told) -> Stack {
        let client = Timed::new(client);
        let sent = client.sent();
        let stack = self.once(client, told);
        if told.retry {
            stack.retrying(sent)
        } else {
            stack
        }
    }

    /// What each try goes through.
    fn once(self, client: Timed, told: Told) -> Stack {
        match self {
            Self::None => Stack::unlimited(client),
            Self::Gate => {
                let gate = GateLayer::new(told.limit);
                let handle = gate.handle();
                if told.hints {
                    steered(gate.hints(Profile::Ietf), client, handle)
                } else {
                    steered(gate, client, handle)
                }
            }
            Self::Rate => {
                let rate = RateLayer::new(told.rate);
                let handle = rate.handle();
                if told.hints {
                    steered(rate.hints(Profile::Ietf), client, handle)
                } else {
                    steered(rate, client, handle)
                }
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
