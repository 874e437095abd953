use std::collections::HashSet;
use std::fmt::Write;

use serde::Serialize;

use super::crawl::Crawl;
use super::sites::Sites;

/// What the whole crawl took.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    seconds: f64,
    /// How long the host that takes longest takes at least.
    bound: f64,
    hosts: Vec<Row>,
}

/// What one host saw.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    host: String,
    /// Requests per second that it allows.
    rate: f64,
    burst: u32,
    limit: usize,
    /// Pages that the crawler read there.
    pages: usize,
    /// Requests that came, those that were sent on elsewhere included.
    requests: u64,
    redirected: u64,
    peak_in_flight: usize,
    /// How many more started than the rate gained, in the window in which they are most.
    worst_window: f64,
    /// How long so many requests take at least.
    bound: f64,
    /// When the last of them started.
    seconds: f64,
}

impl Summary {
    pub(crate) fn new(sites: &Sites, crawl: &Crawl) -> Self {
        let hosts = sites.iter().map(|(host, upstream, capacity)| {
            let report = upstream.report();
            let starts = crawl.starts.get(host).map_or(&[][..], |starts| starts);
            Row {
                host: host.to_owned(),
                rate: capacity.rate,
                burst: capacity.burst,
                limit: capacity.limit,
                pages: crawl.pages.get(host).map_or(0, HashSet::len),
                requests: report.arrivals,
                redirected: report.by_status.get(&302).copied().unwrap_or_default(),
                peak_in_flight: report.peak_in_flight,
                worst_window: capacity.worst_window(starts),
                bound: capacity.bound(starts.len()),
                seconds: starts.last().copied().unwrap_or_default(),
            }
        });
        let mut hosts: Vec<_> = hosts.collect();
        hosts.sort_by(|one, other| other.bound.total_cmp(&one.bound));
        Self {
            seconds: crawl.seconds,
            bound: hosts.first().map_or(0.0, |slowest| slowest.bound),
            hosts,
        }
    }

    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "{:<16} {:>6} {:>5} {:>5} {:>8} {:>10} {:>4} {:>12} {:>7} {:>7}\n",
            "host",
            "rate",
            "burst",
            "pages",
            "requests",
            "redirected",
            "peak",
            "worst window",
            "bound",
            "took"
        );
        for row in &self.hosts {
            let Row {
                host,
                rate,
                burst,
                limit,
                pages,
                requests,
                redirected,
                peak_in_flight,
                worst_window,
                bound,
                seconds,
            } = row;
            writeln!(
                text,
                "{host:<16} {rate:>6.2} {burst:>5} {pages:>5} {requests:>8} {redirected:>10} \
                 {peak_in_flight:>2}/{limit} {worst_window:>12.2} {bound:>5.2} s {seconds:>5.2} s"
            )
            .expect("a string takes it");
        }
        let Self { seconds, bound, .. } = self;
        let ratio = seconds / bound.max(f64::MIN_POSITIVE);
        text + &format!(
            "{seconds:.2} s in all, {ratio:.3} of what the slowest host takes at least ({bound:.2} s)\n\
             peak: most in flight / limit; bound: least time for so many requests; took: when the last started\n\
             worst window: most that started beyond what the rate gained meanwhile; the burst, if none was early\n"
        )
    }
}
