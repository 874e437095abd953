//! The golden table.

use std::fmt::Write;

use tidegate_sim::Oracle;

use crate::cli::row::{Row, Total};
use crate::cli::suite::Suite;

/// The scenarios whose names begin with this were added later, and are harder.
const HARDER: &str = "t";

/// The report as Markdown: each law's totals, then its score on each scenario.
pub(crate) fn render(suite: &Suite, laws: &[String], seeds: &[u64]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut out = format!(
        "# Laws on models of services\n\n\
         Written by `tidegate-sim report`, seeds {}. Goodput is in parts of the best fixed setting's\n\
         (the oracle's), latency in times its latency. Score: `min(goodput, 1) · (1 − waste) ·\n\
         min(1, 1.5 / latency)^¼ · fairness`. Geometric means: score, goodput, latency.\n",
        seeds.join(", ")
    );
    let older = |id: &str| !id.starts_with(HARDER);
    let (old, new): (Vec<&Row>, Vec<&Row>) = suite.rows.iter().partition(|row| older(&row.id));
    if !old.is_empty() && !new.is_empty() {
        totals(&mut out, suite, laws, "without t…", older);
    }
    totals(&mut out, suite, laws, "all", |_| true);
    scores(&mut out, suite, laws);
    out
}

fn totals(out: &mut String, suite: &Suite, laws: &[String], which: &str, counts: fn(&str) -> bool) {
    let totals = laws.iter().map(|law| Total::of(law, &suite.rows, counts));
    let totals: Vec<Total> = totals.collect();
    let count = totals.first().map_or(0, |total| total.scenarios);
    let _ = write!(
        out,
        "\n## {count} scenarios ({which})\n\n\
         | law | score | goodput | worst | waste mean / max | latency mean / max | fairness |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for t in &totals {
        let _ = writeln!(
            out,
            "| {} | {:.3} | {:.3} | {:.2} | {:.1} / {:.0} % | {:.2} / {:.1} | {:.3} |",
            t.law,
            t.score,
            t.goodput,
            t.worst_goodput,
            100.0 * t.waste,
            100.0 * t.max_waste,
            t.latency,
            t.max_latency,
            t.jain
        );
    }
}

fn scores(out: &mut String, suite: &Suite, laws: &[String]) {
    out.push_str("\n## Score by scenario\n\n| scenario | oracle |");
    for law in laws {
        let _ = write!(out, " {law} |");
    }
    let _ = write!(out, "\n|---|---|{}\n", "---|".repeat(laws.len()));
    for found in suite.oracles.chunk_by(|a, b| a.0 == b.0) {
        let id = &found[0].0;
        let mean = |value: fn(&Oracle) -> f64| {
            found.iter().map(|(_, oracle)| value(oracle)).sum::<f64>() / found.len() as f64
        };
        let goodput = mean(|oracle| oracle.goodput);
        let latency = 1e3 * mean(|oracle| oracle.latency);
        let _ = write!(out, "| {id} | {goodput:.1}/s, {latency:.1} ms |");
        for law in laws {
            let total = Total::of(law, &suite.rows, |row| row == id);
            let _ = write!(out, " {:.2} |", total.score);
        }
        out.push('\n');
    }
}
