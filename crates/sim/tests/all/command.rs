//! The command itself: what it prints, and how it ends.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn sim(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_tidegate-sim"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    command.expect("the command starts")
}

fn temporary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_same_seed_is_the_same_bytes_on_any_number_of_threads() {
    let run = |threads| {
        let file = "scenarios/a3.toml";
        let law = "vegas,seed-aimd,fixed:5";
        let output = sim(&[
            "run",
            file,
            "--law",
            law,
            "--seeds",
            "1,2",
            "--json",
            "--threads",
            threads,
        ]);
        assert!(output.status.success());
        output.stdout
    };
    let bytes = run("1");
    assert_eq!(text(&bytes), text(&run("3")));
    assert_eq!(text(&bytes), text(&run("1")));
}

#[test]
fn json_is_one_object_a_line_and_one_for_each_law() {
    let file = "scenarios/a3.toml";
    let output = sim(&[
        "run",
        file,
        "--law",
        "fixed:4,fixed:5",
        "--seeds",
        "3,4",
        "--json",
    ]);
    let lines: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2 * 2 + 2);
    let keys = [
        "id", "law", "seed", "goodput", "waste", "latency", "jain", "cv", "ramp", "recover",
        "score",
    ];
    for key in keys {
        assert!(lines[0].get(key).is_some(), "{key}");
    }
    let head = |line: &serde_json::Value| (line["id"].clone(), line["law"].clone());
    assert_eq!(head(&lines[0]), ("a3".into(), "fixed:4".into()));
    assert_eq!(head(&lines[4]), ("all".into(), "fixed:4".into()));
    assert_eq!(head(&lines[5]), ("all".into(), "fixed:5".into()));
    let score = |index: usize| lines[index]["score"].as_f64().unwrap();
    assert!((f64::midpoint(score(0), score(1)) - score(4)).abs() < 1e-9);
    assert!(score(4) > 0.97, "4 is the oracle's own limit: {}", score(4));
}

#[test]
fn a_bad_file_ends_with_two_and_says_where() {
    let path = temporary("bad.toml");
    fs::write(&path, "id = \"x\"\nrtt = 5\n").unwrap();
    let path = path.to_str().unwrap();
    let output = sim(&["run", path, "--law", "fixed:1"]);
    assert_eq!(output.status.code(), Some(2));
    let words = text(&output.stderr);
    assert!(words.contains(&format!("{path}:2: rtt: ")), "{words}");
    assert_eq!(
        sim(&["run", "nowhere.toml", "--law", "fixed:1"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(sim(&["run", path, "--law", "none"]).status.code(), Some(2));
    assert_eq!(sim(&["run", path]).status.code(), Some(2));
}

#[test]
fn the_governor_takes_its_gains_after_a_colon() {
    let run = |law| sim(&["run", "scenarios/b4.toml", "--law", law, "--json"]);
    let output = run("governor:kp=0.1,ki=0,kd=0,governor");
    let lines: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["law"], "governor:kp=0.1,ki=0,kd=0");
    assert_eq!(lines[3]["law"], "governor");
    // P alone leaves a steady error, far from the setpoint.
    let waste = |index: usize| lines[index]["waste"].as_f64().unwrap();
    assert!(waste(0) > 0.2 && waste(1) < 0.05, "{lines:?}");
    let wrong = run("governor:kp=-1");
    assert_eq!(wrong.status.code(), Some(2));
    let words = "error: governor: kp must be finite and at least 0, not -1\n";
    assert_eq!(text(&wrong.stderr), words);
}

#[test]
fn a_trace_is_a_picture_and_the_same_each_time() {
    let draw = |name: &str| {
        let path = temporary(name);
        let output = sim(&[
            "trace",
            "scenarios/a3.toml",
            "--law",
            "aimd",
            "--svg",
            path.to_str().unwrap(),
        ]);
        assert!(output.status.success());
        fs::read_to_string(path).unwrap()
    };
    let picture = draw("one.svg");
    assert!(picture.starts_with("<svg"));
    for curve in ["limit", "in flight", "goodput", "overloaded", "latency"] {
        assert!(picture.contains(curve), "{curve}");
    }
    assert_eq!(picture, draw("two.svg"));
}

#[test]
fn an_oracle_that_was_found_is_not_sought_again() {
    let path = temporary("oracle.json");
    let path = path.to_str().unwrap();
    let _ = fs::remove_file(path);
    let run = || sim(&["oracle", "scenarios/a3.toml", "--oracle", path]).stdout;
    let first = run();
    let kept = fs::read_to_string(path).unwrap();
    let other = kept.replace("\"best\": \"", "\"best\": \"remembered: ");
    assert_ne!(kept, other);
    fs::write(path, &other).unwrap();
    assert_ne!(text(&first), text(&run()));
    fs::write(path, "nonsense").unwrap();
    assert_eq!(
        sim(&["oracle", "scenarios/a3.toml", "--oracle", path])
            .status
            .code(),
        Some(2)
    );
}
