//! The golden report: it is what the command writes, and it reproduces the study it comes from.

use std::collections::HashMap;
use std::process::Command;

use crate::common::near;

const REPORT: &str = include_str!("../../REPORT.md");

/// The study's oracle: requests per second and milliseconds, mean of seeds 1 and 2.
const ORACLES: [(&str, f64, f64); 32] = [
    ("a1", 804.0, 28.0),
    ("a3", 40.3, 100.0),
    ("b1", 1599.0, 33.0),
    ("b4", 1796.0, 60.0),
    ("c1", 200.0, 50.0),
    ("c4", 50.4, 25.0),
    ("c6", 302.0, 70.0),
    ("d1", 1562.0, 28.0),
    ("d4", 341.0, 63.0),
    ("e1", 399.0, 66.0),
    ("f1", 1597.0, 33.0),
    ("f4", 2998.0, 121.0),
    ("g1", 1252.0, 51.0),
    ("g3", 1453.0, 41.0),
    ("g6", 2000.0, 59.0),
    ("h1", 1581.0, 227.0),
    ("h3", 1302.0, 30.0),
    ("h6", 1336.0, 67.0),
    ("i1", 1597.0, 34.0),
    ("i3", 400.0, 50.0),
    ("j1", 418.0, 30.0),
    ("j4", 201.0, 30.0),
    ("k1", 3146.0, 43.0),
    ("k4", 1547.0, 28.0),
    ("l1", 9966.0, 220.0),
    ("l3", 9.8, 102.0),
    ("t1", 1599.0, 38.0),
    ("t2", 1996.0, 55.0),
    ("t3", 60.0, 50.0),
    ("t4", 158.0, 171.0),
    ("t5", 257.0, 50.0),
    ("t6", 3488.0, 231.0),
];

/// The study's scores over the 26 scenarios without t….
const SCORES: [(&str, f64); 6] = [
    ("seed-aimd", 0.53),
    ("seed-pid", 0.17),
    ("tower-resilience-aimd", 0.54),
    ("netflix-aimd", 0.48),
    ("vector-arc", 0.46),
    ("cubic", 0.37),
];

/// The cells of each row of the table under the heading that starts with `heading`, by its first.
fn table<'a>(report: &'a str, heading: &str) -> HashMap<&'a str, Vec<&'a str>> {
    let rows = report
        .lines()
        .skip_while(|line| !line.starts_with(heading))
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| "));
    rows.map(|line| {
        let mut cells = line.trim_matches('|').split(" |").map(str::trim);
        (cells.next().unwrap_or_default(), cells.collect())
    })
    .collect()
}

fn score(report: &str, heading: &str, law: &str) -> f64 {
    table(report, heading)[law][0].parse().unwrap()
}

#[test]
fn every_oracle_is_within_five_percent_of_the_study() {
    let scores = table(REPORT, "## Score by scenario");
    for (id, goodput, latency) in ORACLES {
        let cell = scores[id][0].trim_end_matches(" ms");
        let (ours, ours_latency) = cell.split_once("/s, ").unwrap();
        near(ours.parse().unwrap(), goodput, 0.05);
        near(ours_latency.parse().unwrap(), latency, 0.05);
    }
}

#[test]
fn every_known_law_scores_within_five_hundredths_of_the_study() {
    for (law, expected) in SCORES {
        let ours = score(REPORT, "## 26 scenarios", law);
        assert!(
            (ours - expected).abs() <= 0.05,
            "{law}: {ours}, not {expected}"
        );
    }
}

#[test]
fn the_report_is_what_the_command_writes() {
    // Few events each, and one of each kind of load.
    let few = ["a3", "j4", "k4", "t7"];
    let known = SCORES.map(|(law, _)| law);
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate-sim"))
        .arg("report")
        .args(few.map(|id| format!("scenarios/{id}.toml")))
        .args(["--seeds", "1,2", "--law", &known.join(",")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let fresh = String::from_utf8(output.stdout).unwrap();
    let heading = "## Score by scenario";
    let (kept, fresh) = (table(REPORT, heading), table(&fresh, heading));
    let column = |law: &str| {
        kept["scenario"]
            .iter()
            .position(|name| *name == law)
            .unwrap()
    };
    for id in few {
        assert_eq!(fresh[id][0], kept[id][0], "the oracle of {id}");
        for (index, law) in known.iter().enumerate() {
            assert_eq!(fresh[id][index + 1], kept[id][column(law)], "{law} on {id}");
        }
    }
}

#[test]
fn the_shipped_laws_stay_above_their_bounds() {
    for (law, bound) in [("prober", 0.93), ("governor", 0.88)] {
        let ours = score(REPORT, "## 35 scenarios", law);
        assert!(ours >= bound, "{law}: {ours}, below {bound}");
    }
}
