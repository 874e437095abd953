use std::time::Duration;

use crate::scenario::{Background, Distribution, Load, ScenarioError, Server, Step, text};
use crate::status::outcome;

/// A service, the way to it, and who wants what of it: one TOML file.
///
/// ```
/// use tidegate_sim::Scenario;
///
/// let scenario = Scenario::from_toml(
///     r#"
///     id = "mine"
///     rtt = "5ms"
///     duration = "60s"
///
///     [server]
///     kind = "fifo"
///     workers = 16
///     service = { exponential = "20ms" }
///
///     [load]
///     kind = "closed"
///     "#,
/// )?;
/// assert_eq!(scenario.clients.len(), 1);
/// # Ok::<(), tidegate_sim::ScenarioError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub id: String,
    /// Round trip of the network, half of it each way.
    pub rtt: Duration,
    /// What the way back takes on top of it.
    pub rtt_jitter: Option<Distribution>,
    /// How long it runs; for a batch at most. Default for a batch 400 s.
    pub duration: Duration,
    /// How long a client waits for an answer.
    pub timeout: Option<Duration>,
    /// When each client joins, since the start.
    pub clients: Vec<Duration>,
    /// The service.
    pub server: Server,
    /// Who wants what.
    pub load: Load,
    /// What changes, in order of time.
    pub steps: Vec<Step>,
    /// Failures that have nothing to do with load.
    pub background: Option<Background>,
}

impl Scenario {
    /// Reads a scenario from the text of a TOML file.
    ///
    /// # Errors
    ///
    /// With line, key and what was expected, at the first thing that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        text::read(text)
    }

    /// What the way back takes on top of half a round trip, in seconds.
    pub fn mean_jitter(&self) -> f64 {
        self.rtt_jitter.map_or(0.0, |jitter| jitter.mean())
    }

    /// Requests per second that the server lets through, if that is what it limits.
    pub fn rate(&self) -> Option<f64> {
        self.server.kind.rate()
    }

    /// Share of the arrivals that are overloads without any load.
    pub(crate) fn noise(&self) -> f64 {
        let overloads = self.background.filter(|b| outcome(b.status).is_overload());
        overloads.map_or(0.0, |background| background.share)
    }
}
