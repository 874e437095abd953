use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use tidegate::littles_law;
use tidegate_testkit::{Exponential, Upstream, UpstreamBuilder};

use crate::strategy::Strategy;

const WORKERS: usize = 16;
const QUEUE: usize = 16;
const MEAN: Duration = Duration::from_millis(20);

/// What the upstream that limits a rate lets through, per second.
pub(crate) const RATE: f64 = 200.0;
const BURST: u32 = 20;

/// How the embedded upstream overloads.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// 16 workers and a queue of 16, 503 when it is full
    Workers,
    /// 200 a second with a burst of 20, 429 with Retry-After above that; each answer says what is left
    Rate,
    /// 16 workers and a queue without end: it never refuses and only slows down
    Slow,
}

impl Kind {
    fn builder(self) -> UpstreamBuilder {
        match self {
            Self::Workers => Upstream::workers(WORKERS).queue(QUEUE),
            Self::Rate => Upstream::unlimited()
                .rate(RATE, BURST)
                .retry_after()
                .rate_limit_fields(),
            Self::Slow => Upstream::workers(WORKERS),
        }
    }
}

/// How many in flight keep all workers busy and the queue empty.
pub(crate) fn best_limit() -> NonZeroUsize {
    littles_law(WORKERS as f64 / MEAN.as_secs_f64(), MEAN)
}

/// Is the upstream. Prints where it listens, then a report for each line that comes in; ends with
/// its standard input, and so with the process that holds the other end.
pub(crate) fn serve(kind: Kind, seed: u64) -> anyhow::Result<()> {
    let upstream = kind
        .builder()
        .service_time(Exponential(MEAN))
        .seed(seed)
        .start_on_thread();
    println!("{}", upstream.uri());
    for line in io::stdin().lines() {
        line?;
        println!("{}", serde_json::to_string(&Report::of(&upstream))?);
    }
    Ok(())
}

/// What the upstream saw.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Report {
    pub(crate) peak_in_flight: usize,
    accept_errors: u64,
    exhausted: Option<String>,
}

impl Report {
    fn of(upstream: &Upstream) -> Self {
        let report = upstream.report();
        Self {
            peak_in_flight: report.peak_in_flight,
            accept_errors: report.accept_errors,
            exhausted: report.exhausted.map(|what| what.to_string()),
        }
    }

    pub(crate) fn tell_exhausted(&self, strategy: Strategy) {
        if let Some(what) = &self.exhausted {
            let errors = self.accept_errors;
            eprintln!(
                "{strategy}: the upstream could not accept a connection {errors} times: {what}"
            );
        }
    }
}

/// The upstream as a process of its own, so that it has its own descriptors. It ends when this is
/// dropped.
#[derive(Debug)]
pub(crate) struct UpstreamProcess {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    url: Url,
}

impl UpstreamProcess {
    pub(crate) fn start(kind: Kind, seed: u64) -> anyhow::Result<Self> {
        let kind = kind.to_possible_value().expect("no kind is skipped");
        let mut child = Command::new(env::current_exe()?)
            .args(["--serve", "--upstream", kind.get_name()])
            .args(["--seed", &seed.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let asks = child.stdin.take().expect("it is piped");
        let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let url = read_line(&mut answers)?.parse()?;
        Ok(Self {
            child,
            asks,
            answers,
            url,
        })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn report(&mut self) -> anyhow::Result<Report> {
        self.asks.write_all(b"report\n")?;
        Ok(serde_json::from_str(&read_line(&mut self.answers)?)?)
    }
}

impl Drop for UpstreamProcess {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_line(answers: &mut BufReader<ChildStdout>) -> anyhow::Result<String> {
    let mut line = String::new();
    answers.read_line(&mut line)?;
    line.pop().context("it has ended")?;
    Ok(line)
}
