use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use tidegate::Pace;

use crate::pictures::Pictures;
use crate::strategy::{Strategy, Told};
use crate::upstream::{self, Kind};
use crate::urls::Urls;

/// Sends many requests to an upstream that overloads, once per strategy, and compares.
///
/// The upstream is a process of its own on loopback, with exponential service times of 20 ms in the
/// mean.
#[derive(Debug, Parser)]
#[command(name = "batch", after_long_help = COLUMNS)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command"
)]
pub(crate) struct Arguments {
    /// How many requests each strategy has. Default: 10000; with --urls as many as there are URLs,
    /// and where it is more, they are gone through again.
    #[arg(long, value_name = "N", value_parser = above_zero, allow_negative_numbers = true)]
    pub(crate) requests: Option<usize>,

    /// Strategies, separated by commas, one after the other.
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        default_value = "none,gate,governor,prober"
    )]
    pub(crate) strategies: Vec<Strategy>,

    /// How many requests the gate lets be in flight. The default is Little's law for the embedded
    /// upstream: 800 a second, 20 ms each.
    #[arg(
        long,
        value_name = "N",
        value_parser = above_zero,
        allow_negative_numbers = true,
        default_value_t = upstream::best_limit().get()
    )]
    pub(crate) limit: usize,

    /// How many a second the strategy rate lets through.
    #[arg(
        long,
        value_name = "N",
        value_parser = per_second,
        allow_negative_numbers = true,
        default_value_t = upstream::RATE
    )]
    pub(crate) rate: f64,

    /// Tries again by a retry layer, of all strategies: at most 5 times, after 100 ms to 5 s or when the
    /// upstream says, and no more than a fifth of the requests. Otherwise what did not succeed goes
    /// back to the tail, at most 5 times; of none never.
    #[arg(long)]
    pub(crate) retry: bool,

    /// Has the strategies gate and rate listen to what the upstream says about its limits: Retry-After
    /// and the RateLimit fields of the IETF.
    #[arg(long)]
    pub(crate) hints: bool,

    /// How the embedded upstream overloads.
    #[arg(
        long,
        value_name = "KIND",
        default_value = "workers",
        conflicts_with = "urls"
    )]
    pub(crate) upstream: Kind,

    /// Of the service times of the embedded upstream.
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    pub(crate) seed: u64,

    /// Fetches these URLs instead (GET): http or https, one per line. Empty lines and lines that
    /// begin with # are skipped. The strategy none sends to all of them at once: mind whose servers
    /// they are.
    #[arg(long, value_name = "FILE", value_parser = Urls::read)]
    pub(crate) urls: Option<Urls>,

    /// Prints after each strategy, to standard error, what its limit did and why.
    #[arg(long)]
    pub(crate) history: bool,

    /// Draws what happened as a page, into this file; with several strategies, into one for each, with
    /// its name before the extension.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// The same as one picture.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Prints one JSON array with an object per strategy, and nothing else, to standard output.
    #[arg(long)]
    pub(crate) json: bool,

    /// Be the embedded upstream.
    #[arg(long, hide = true)]
    pub(crate) serve: bool,
}

impl Arguments {
    pub(crate) fn pictures(&self) -> Pictures<'_> {
        Pictures {
            html: self.html.as_deref(),
            svg: self.svg.as_deref(),
            several: self.strategies.len() > 1,
        }
    }

    pub(crate) fn told(&self) -> Told {
        Told {
            limit: self.limit,
            rate: tidegate::per_second(self.rate),
            retry: self.retry,
            hints: self.hints,
        }
    }
}

const COLUMNS: &str = "\
What is counted, of the requests by how each ended at last:
  succeeded       answered with 2xx, to the end of the body
  refused         never succeeded; the last answer of the upstream was 503 or 429
  failed          never succeeded; the last try failed in another way: another status, no connection,
                  a broken body, nothing whole within 10 seconds
                  requests = succeeded + refused + failed
  sent            every send, later tries included; a redirect is followed within one. What this
                  machine had no file descriptor or local port for was not sent: such requests end
                  as failed, and a line on standard error says so
  seconds         from the first send to the last end
  p50, p99        latency of the answers that succeeded, in milliseconds, from the send to the end of
                  the body, without the wait at the gate; null if there are none
  peak in flight  the most requests inside the embedded upstream at once, as it saw it itself; null
                  with --urls, since their servers do not tell

Exit code 2, with nothing sent, if an argument is wrong; 1 if the upstream or the output breaks.";

fn above_zero(text: &str) -> Result<usize, &'static str> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or("it must be a whole number above zero")
}

fn per_second(text: &str) -> Result<f64, String> {
    let rate = text.parse().map_err(|_| "it must be a number above zero")?;
    let pace =
        Pace::try_per(rate, Duration::from_secs(1)).map_err(|invalid| invalid.to_string())?;
    Ok(pace.rate())
}
