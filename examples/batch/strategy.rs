use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use reqwest::Client;
use tidegate::GateLayer;
use tower::ServiceBuilder;

use crate::attempt::Timed;
use crate::stack::Stack;

/// How the requests are let go.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Strategy {
    /// All at once, each sent once
    None,
    /// At most --limit in flight; what does not succeed goes back to the tail, at most 5 times
    Gate,
}

impl Strategy {
    pub(crate) fn stack(self, client: Client, limit: usize) -> Stack {
        let client = Timed::new(client);
        match self {
            Self::None => Stack::unlimited(client),
            Self::Gate => {
                let gate = GateLayer::new(limit);
                let handle = Arc::new(gate.handle());
                Stack::steered(ServiceBuilder::new().layer(gate).service(client), handle)
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gate => "gate",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
