use std::fmt;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tidegate::{Door, Snapshot};

use crate::strategy::Strategy;

/// Tells on standard error how far it is: with a bar on a terminal, else in lines.
#[derive(Debug)]
pub(crate) struct Progress {
    strategy: Strategy,
    requests: usize,
    /// Only on a terminal.
    bar: Option<ProgressBar>,
}

/// How it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) done: usize,
    /// `None` if nothing limits.
    pub(crate) steer: Option<Snapshot>,
    pub(crate) in_flight: usize,
    pub(crate) failures: usize,
}

const BAR: &str = "{prefix:>8} {wide_bar} {pos}/{len}  {msg}";

impl Progress {
    pub(crate) fn new(strategy: Strategy, requests: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(BAR).expect("the template is well formed");
            ProgressBar::new(requests as u64)
                .with_style(style)
                .with_prefix(strategy.name())
        });
        Self {
            strategy,
            requests,
            bar,
        }
    }

    /// How often it may be shown: ten times a second on a terminal, else once.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_millis(if self.bar.is_some() { 100 } else { 1_000 })
    }

    pub(crate) fn show(&self, moment: &Moment) {
        let Self {
            strategy, requests, ..
        } = self;
        if let Some(bar) = &self.bar {
            bar.set_position(moment.done as u64);
            bar.set_message(moment.to_string());
        } else {
            eprintln!("{strategy}: {}/{requests}  {moment}", moment.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = |snapshot: &Snapshot| snapshot.limit <= Door::MAX_LIMIT;
        match &self.steer {
            None => f.write_str("no limit")?,
            Some(steer) if limit(steer) => write!(f, "limit {}", steer.limit)?,
            Some(_) => f.write_str("a rate")?,
        }
        write!(
            f,
            ", in flight {}, failures {}",
            self.in_flight, self.failures
        )
    }
}
