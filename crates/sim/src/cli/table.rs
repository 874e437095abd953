use std::fmt::Write;

use crate::cli::row::{Row, Total};

/// Rows and totals for people to read.
pub(crate) fn render(rows: &[Row], totals: &[Total]) -> String {
    let mut out = String::new();
    line(
        &mut out,
        &["id", "law", "seed"],
        &[
            "goodput",
            "waste %",
            "latency",
            "jain",
            "cv",
            "ramp s",
            "recover s",
            "score",
        ]
        .map(str::to_owned),
    );
    for row in rows {
        let m = &row.metrics;
        let seed = row.seed.to_string();
        let numbers = [m.goodput, 100.0 * m.waste, m.latency, m.jain, m.cv].map(number);
        let times = [m.ramp, m.recover].map(|time| time.map_or("–".into(), number));
        let cut = if row.cut { "*" } else { "" };
        let score = [format!("{:.3}{cut}", m.score)];
        line(
            &mut out,
            &[&row.id, &row.law, &seed],
            &[&numbers[..], &times, &score].concat(),
        );
    }
    if rows.iter().any(|row| row.cut) {
        out.push_str("* cut short and extrapolated: steps that come later are not in it\n");
    }
    out.push('\n');
    for t in totals {
        let _ = writeln!(
            out,
            "{:<22} score {:.3} · goodput {:.3}, worst {:.3} · waste {:.1} %, max {:.1} % · latency {:.2}, max {:.2} · jain {:.3} · {} scenario{}",
            t.law,
            t.score,
            t.goodput,
            t.worst_goodput,
            100.0 * t.waste,
            100.0 * t.max_waste,
            t.latency,
            t.max_latency,
            t.jain,
            t.scenarios,
            if t.scenarios == 1 { "" } else { "s" }
        );
    }
    out
}

fn number(value: f64) -> String {
    format!("{value:.2}")
}

fn line(out: &mut String, names: &[&str; 3], numbers: &[String]) {
    let [id, law, seed] = names;
    let _ = write!(out, "{id:<10} {law:<22} {seed:>4}");
    for number in numbers {
        let _ = write!(out, " {number:>9}");
    }
    out.push('\n');
}
