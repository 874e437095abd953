use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use tidegate::batch::{Bar, Moment, Progress};
use tidegate::{Door, Report, Snapshot};

use crate::clock::now;
use crate::strategy::Strategy;

/// Tells on standard error how far it is, with a bar on a terminal, else in lines; and has the history
/// look at a limit that no law moves.
#[derive(Debug)]
pub(crate) struct Shown {
    strategy: Strategy,
    /// Only on a terminal.
    bar: Option<Bar>,
    history: Option<Report>,
    next_line: Option<Instant>,
}

/// Between two lines.
const PERIOD: Duration = Duration::from_secs(1);

impl Shown {
    pub(crate) fn new(strategy: Strategy, history: Option<Report>) -> Self {
        let bar = stderr().is_terminal();
        Self {
            strategy,
            bar: bar.then(|| Bar::new().prefix(strategy.name())),
            history,
            next_line: None,
        }
    }
}

impl Progress for Shown {
    fn show(&mut self, moment: &Moment) {
        let now = now();
        if let Some(history) = &self.history {
            history.look(now);
        }
        if let Some(bar) = &mut self.bar {
            bar.show(moment);
        } else if self.next_line.is_none_or(|next| next <= now) {
            self.next_line = Some(now + PERIOD);
            eprintln!("{}: {}", self.strategy, line(moment));
        }
    }
}

fn line(moment: &Moment) -> String {
    let limit = match &moment.steer {
        None => "no limit".to_owned(),
        Some(Snapshot { limit, .. }) if *limit <= Door::MAX_LIMIT => format!("limit {limit}"),
        Some(_) => "a rate".to_owned(),
    };
    let in_flight = moment
        .steer
        .map_or(moment.under_way, |steer| steer.in_flight);
    let (done, requests) = (moment.done(), moment.requests.unwrap_or_default());
    let failures = moment.counts.failed_tries;
    format!("{done}/{requests}  {limit}, in flight {in_flight}, failures {failures}")
}
