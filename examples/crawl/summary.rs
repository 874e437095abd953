use std::collections::HashSet;
use std::fmt::Write;

use serde::Serialize;

use crate::crawl::Crawl;
use crate::sites::Sites;

/// What one site saw.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    site: String,
    /// Pages that the crawler read there.
    pages: usize,
    /// Requests that came, those that were sent on elsewhere included.
    requests: u64,
    redirected: u64,
    peak_in_flight: usize,
    /// Of the whole crawl.
    seconds: f64,
}

pub(crate) fn rows(sites: &Sites, crawl: &Crawl, seconds: f64) -> Vec<Row> {
    let rows = sites.iter().map(|upstream| {
        let site = upstream.uri().trim_start_matches("http://").to_owned();
        let report = upstream.report();
        Row {
            pages: crawl.pages.get(&site).map_or(0, HashSet::len),
            site,
            requests: report.arrivals,
            redirected: report.by_status.get(&302).copied().unwrap_or_default(),
            peak_in_flight: report.peak_in_flight,
            seconds,
        }
    });
    rows.collect()
}

pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<22} {:>6} {:>9} {:>11} {:>15}\n",
        "site", "pages", "requests", "redirected", "peak in flight"
    );
    for row in rows {
        let Row {
            site,
            pages,
            requests,
            redirected,
            peak_in_flight,
            ..
        } = row;
        writeln!(
            text,
            "{site:<22} {pages:>6} {requests:>9} {redirected:>11} {peak_in_flight:>15}"
        )
        .expect("a string takes it");
    }
    let seconds = rows.first().map_or(0.0, |row| row.seconds);
    text + &format!("{seconds:.1} s\n")
}
