use std::time::Duration;

use crate::scenario::Distribution;

/// The service that is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How it shares itself out.
    pub kind: ServerKind,
    /// How long one request takes where nothing holds it up.
    pub service: Distribution,
    /// Status of a refusal. Default 429 for a bucket or a window, 503 for the others.
    pub reject: u16,
    /// What a refusal says in its `Retry-After`.
    pub retry_after: Option<Duration>,
}

/// How a server shares itself out among the requests that it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerKind {
    /// Workers that serve a queue in order.
    Fifo {
        /// How many are served at once.
        workers: u32,
        /// How many may wait; `None` without end, 0 for a pure loss system.
        queue: Option<u32>,
    },
    /// Processor sharing: each of `n` requests at speed `min(1, capacity / n)`.
    Ps {
        /// How many run at full speed.
        capacity: f64,
    },
    /// The universal scalability law: each of `n` requests at speed
    /// `1 / (1 + α (n − 1) + β n (n − 1))`. Source: N. J. Gunther, "Guerrilla Capacity Planning"
    /// (2007).
    Usl {
        /// Contention.
        alpha: f64,
        /// Crosstalk.
        beta: f64,
    },
    /// A token bucket in front of workers without end.
    Bucket {
        /// Tokens per second.
        rate: f64,
        /// How many tokens it holds; full at the start.
        burst: f64,
    },
    /// A quota per fixed window, in front of workers without end.
    Window {
        /// Requests per window.
        limit: u32,
        /// Length of a window; the first begins at the start.
        per: Duration,
    },
}

impl ServerKind {
    /// Requests per second that it lets through, if that is what it limits.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            Self::Bucket { rate, .. } => Some(rate),
            Self::Window { limit, per } => Some(f64::from(limit) / per.as_secs_f64()),
            Self::Fifo { .. } | Self::Ps { .. } | Self::Usl { .. } => None,
        }
    }
}
