//! The example `batch` as a program: what it prints, and what it does with bad input.

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::{Map, Value};
use tidegate::Units;
use tidegate_testkit::{Response, Upstream};

const KEYS: [&str; 10] = [
    "failed",
    "p50_ms",
    "p99_ms",
    "peak_in_flight",
    "refused",
    "requests",
    "seconds",
    "sent",
    "strategy",
    "succeeded",
];

static PROGRAM: LazyLock<PathBuf> =
    LazyLock::new(|| program::program("batch").get_program().into());

fn batch(arguments: &[&str]) -> Output {
    Command::new(&*PROGRAM).args(arguments).output().unwrap()
}

/// What it prints with `--json`, after it was checked to be nothing else.
fn json(arguments: &[&str]) -> Vec<Map<String, Value>> {
    rows(&batch(&[arguments, &["--json"]].concat()))
}

fn rows(output: &Output) -> Vec<Map<String, Value>> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let rows: Vec<Map<_, _>> = serde_json::from_slice(&output.stdout).unwrap();
    for row in &rows {
        let mut keys: Vec<_> = row.keys().collect();
        keys.sort();
        assert_eq!(keys, KEYS);
        let ended = ["succeeded", "refused", "failed"].map(|key| count(row, key));
        assert_eq!(ended.iter().sum::<u64>(), count(row, "requests"));
    }
    rows
}

fn count(row: &Map<String, Value>, key: &str) -> u64 {
    row[key].as_u64().unwrap()
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().next().unwrap_or_default().to_owned()
}

/// A file with these lines. Its name is for one test.
fn url_file(name: &str, lines: &[&str]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// Upstreams of the tests' own, whose first arrivals make room so slowly that no machine sends so many
/// requests meanwhile as they would have room for.
fn slow_at_first(arrivals: u64) -> Upstream {
    let slow = move |nth| (nth < arrivals).then(|| Response::new(200).after(500.ms()));
    Upstream::workers(16)
        .queue(16)
        .script(move |_, nth| slow(nth))
        .start_on_thread()
}

#[test]
fn all_at_once_most_are_refused_and_behind_a_gate_none() {
    let upstream = slow_at_first(400);
    let file = url_file("all-at-once.txt", &[upstream.uri()]);
    let file = file.to_str().unwrap();
    let rows = json(&["--urls", file, "--requests=400", "--strategies=none"]);
    let [none] = &rows[..] else {
        panic!("one strategy, not {rows:?}");
    };
    assert_eq!(none["strategy"], "none");
    assert_eq!((count(none, "requests"), count(none, "sent")), (400, 400));
    assert!(count(none, "refused") > 200 && count(none, "failed") == 0);
    assert_eq!(upstream.peak_in_flight(), 32);

    let rows = json(&["--requests", "400", "--strategies", "gate"]);
    let [gate] = &rows[..] else {
        panic!("one strategy, not {rows:?}");
    };
    assert_eq!(gate["strategy"], "gate");
    assert_eq!((count(gate, "succeeded"), count(gate, "sent")), (400, 400));
    assert!(count(gate, "peak_in_flight") <= 16);
    let quantiles = ["p50_ms", "p99_ms"].map(|key| gate[key].as_f64().unwrap());
    assert!(0.1 < quantiles[0] && quantiles[0] < quantiles[1]);
    assert!(gate["seconds"].as_f64().unwrap() > 0.1);
}

#[test]
fn told_the_rate_nearly_nothing_is_refused() {
    let rows = json(&[
        "--requests=200",
        "--upstream=rate",
        "--strategies=none,rate",
    ]);
    let [none, rate] = &rows[..] else {
        panic!("two strategies, not {rows:?}");
    };
    // It lets through 20, and 200 a second.
    let room = 20.0 + 200.0 * none["seconds"].as_f64().unwrap();
    assert!(count(none, "succeeded") as f64 <= room, "{none:?}");
    assert_eq!(count(rate, "succeeded"), 200);
    assert!(count(rate, "sent") <= 204, "{rate:?}");
    assert!(rate["seconds"].as_f64().unwrap() > 0.9);
}

#[test]
fn a_history_says_where_the_limit_went_and_why() {
    let output = batch(&[
        "--requests=500",
        "--strategies=prober",
        "--history",
        "--json",
    ]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("answered in"), "{told}");
    assert!(
        told.contains("starting: one more for each success"),
        "{told}"
    );
    assert_eq!(rows(&output).len(), 1);
}

#[test]
fn pictures_go_where_they_are_told_to_and_it_says_so() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [page, picture] = ["run.html", "run.svg"].map(|name| folder.join(name));
    let [html, svg] = [&page, &picture].map(|file| file.to_str().unwrap());
    let output = batch(&[
        "--requests=300",
        "--strategies=none,gate,prober",
        "--html",
        html,
        "--svg",
        svg,
    ]);
    assert!(output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    for name in [
        "run-none.html",
        "run-none.svg",
        "run-gate.html",
        "run-gate.svg",
        "run-prober.html",
        "run-prober.svg",
    ] {
        let file = folder.join(name);
        assert!(
            told.contains(&format!("drawn into {}", file.display())),
            "{told}"
        );
        let drawn = fs::read_to_string(file).unwrap();
        assert!(drawn.contains("<svg") && drawn.contains("succeeded"));
    }
    let output = batch(&[
        "--requests=20",
        "--strategies=gate",
        "--html",
        "/nonexistent/run.html",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write /nonexistent/run.html"));
}

#[test]
fn a_retry_layer_mends_what_a_gate_lets_through_and_not_a_storm() {
    let storm = slow_at_first(u64::MAX);
    let file = url_file("storm.txt", &[storm.uri()]);
    let file = file.to_str().unwrap();
    let rows = json(&[
        "--urls",
        file,
        "--requests=400",
        "--strategies=none",
        "--retry",
    ]);
    let none = &rows[0];
    // A fifth of the requests, the reserve and what comes back of it, each second as a whole.
    let seconds = none["seconds"].as_f64().unwrap();
    let most = 400.0 + 80.0 + 100.0 + 10.0 * (seconds + 1.0);
    let sent = count(none, "sent");
    assert!(sent > 400 && sent as f64 <= most, "{none:?}");
    assert!(count(none, "refused") > 0, "{none:?}");

    // Fewer fail than each may be tried again.
    let fails = |nth| (nth < 5).then(|| Response::new(503));
    let upstream = Upstream::workers(16).script(move |_, nth| fails(nth));
    let upstream = upstream.start_on_thread();
    let file = url_file("mended.txt", &[upstream.uri()]);
    let file = file.to_str().unwrap();
    let rows = json(&[
        "--urls",
        file,
        "--requests=400",
        "--strategies=gate",
        "--retry",
    ]);
    let gate = &rows[0];
    assert_eq!((count(gate, "succeeded"), count(gate, "sent")), (400, 405));
}

#[test]
fn limits_that_find_themselves_lose_nothing_at_any_upstream() {
    for upstream in ["workers", "rate", "slow"] {
        let strategies = "--strategies=aimd,governor,prober";
        let rows = json(&["--requests=300", "--upstream", upstream, strategies]);
        for row in &rows {
            assert_eq!(count(row, "succeeded"), 300, "{upstream}: {row:?}");
        }
    }
}

#[test]
fn the_upstream_never_sees_more_than_the_limit() {
    for limit in ["1", "5"] {
        let rows = json(&[
            "--requests=60",
            "--strategies=gate",
            "--limit",
            limit,
            "--seed=7",
        ]);
        assert_eq!(count(&rows[0], "succeeded"), 60);
        assert_eq!(count(&rows[0], "peak_in_flight").to_string(), limit);
    }
}

#[test]
fn strategies_run_in_the_order_they_are_named() {
    let rows = json(&["--requests=20", "--strategies=gate,none,gate"]);
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["gate", "none", "gate"]);
}

#[test]
fn without_json_it_prints_a_table_and_progress_in_lines() {
    let output = batch(&["--requests", "50", "--strategies", "none,gate"]);
    let table = String::from_utf8(output.stdout).unwrap();
    let firsts = table
        .lines()
        .map(|line| line.split_whitespace().next().unwrap());
    assert_eq!(firsts.collect::<Vec<_>>(), ["strategy", "none", "gate"]);
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        assert!(line.contains("/50  ") && line.contains(" limit"), "{line}");
        assert!(
            line.contains(", in flight ") && line.contains(", failures "),
            "{line}"
        );
    }
}

#[test]
fn bad_input_is_told_in_the_first_line_with_exit_code_2() {
    let upstream = Upstream::unlimited().start_on_thread();
    let good = upstream.uri();
    let not_url = url_file("not-url.txt", &[good, "", "# a comment", "not a URL", good]);
    let ftp = url_file("ftp.txt", &[good, "ftp://127.0.0.1/"]);
    let empty = url_file("empty.txt", &["# nothing", "", "   "]);
    let [not_url, ftp, empty] = [&not_url, &ftp, &empty].map(|path| path.to_str().unwrap());
    let whole = "it must be a whole number above zero";
    for (arguments, told) in [
        (
            &["--urls", "/nonexistent/urls.txt"][..],
            &["/nonexistent/urls.txt", "cannot read it"][..],
        ),
        (
            &["--urls", not_url],
            &[not_url, "line 4", "\"not a URL\" is not a URL"],
        ),
        (&["--urls", ftp], &[ftp, "line 2", "neither http nor https"]),
        (&["--urls", empty], &[empty, "there is no URL in it"]),
        (
            &["--urls", env!("CARGO_TARGET_TMPDIR")],
            &["cannot read it"],
        ),
        (
            &["--strategies", "none,nonsense"],
            &["'nonsense'", "--strategies"],
        ),
        (&["--strategies", ""], &["--strategies"]),
        (&["--requests", "0"], &["'0'", "--requests", whole]),
        (&["--requests", "-5"], &["'-5'", "--requests", whole]),
        (&["--requests", "many"], &["'many'", "--requests", whole]),
        (&["--limit", "0"], &["'0'", "--limit", whole]),
        (&["--limit=-1"], &["'-1'", "--limit", whole]),
        (&["--rate", "0"], &["'0'", "--rate", "above zero"]),
        (&["--rate", "NaN"], &["'NaN'", "--rate", "finite"]),
        (&["--rate", "x"], &["'x'", "--rate", "a number"]),
        (&["--upstream", "fast"], &["'fast'", "--upstream"]),
        (&["--seed", "x"], &["'x'", "--seed"]),
        (&["--frobnicate"], &["--frobnicate"]),
    ] {
        let output = batch(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let line = first_line(&output.stderr);
        for part in told {
            assert!(line.contains(part), "{part:?} is not in {line:?}");
        }
    }
    assert_eq!(upstream.report().arrivals, 0);
}

#[test]
fn urls_of_a_file_are_fetched_instead() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).body("hello"))
        .start_on_thread();
    let [a, b] = ["a", "b"].map(|path| format!("{}/{path}", upstream.uri()));
    let file = url_file("fetched.txt", &["# two", &a, "", &format!("  {b}  ")]);
    let file = file.to_str().unwrap();

    let rows = json(&["--urls", file, "--strategies=none,gate"]);
    for row in &rows {
        assert_eq!((count(row, "requests"), count(row, "succeeded")), (2, 2));
        assert_eq!(row["peak_in_flight"], Value::Null);
    }
    let rows = json(&["--urls", file, "--requests", "5", "--strategies", "gate"]);
    assert_eq!(count(&rows[0], "succeeded"), 5);

    let by_key = upstream.report().by_key;
    assert_eq!((by_key["/a"], by_key["/b"]), (2 + 3, 2 + 2));
}

#[test]
fn what_does_not_succeed_is_sent_once_without_a_gate_and_six_times_behind_one() {
    let upstream = Upstream::unlimited()
        .respond(|request| match request.uri().path() {
            "/busy" => Response::new(503),
            "/slower" => Response::new(429),
            "/missing" => Response::new(404),
            _ => Response::new(200).chunk("hel").abort().chunk("lo").sized(),
        })
        .start_on_thread();
    let uris =
        ["busy", "slower", "missing", "broken"].map(|path| format!("{}/{path}", upstream.uri()));
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let file = url_file(
        "unsuccessful.txt",
        &[
            &uris[0],
            &uris[1],
            &uris[2],
            &uris[3],
            &format!("http://{closed}/"),
        ],
    );

    let file = file.to_str().unwrap();
    let output = batch(&["--urls", file, "--strategies=none,gate", "--json"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("gate: 3 failed, the first of them http://127.0.0.1:"));
    let rows = rows(&output);
    for (row, sends) in rows.iter().zip([1, 6]) {
        let ended = ["succeeded", "refused", "failed"].map(|key| count(row, key));
        assert_eq!(ended, [0, 2, 3]);
        assert_eq!(count(row, "sent"), 5 * sends);
        assert_eq!(
            (&row["p50_ms"], &row["p99_ms"]),
            (&Value::Null, &Value::Null)
        );
    }
    assert!(upstream.report().by_key.values().all(|sent| *sent == 1 + 6));
}

#[test]
#[cfg(unix)]
fn with_few_descriptors_fewer_are_sent_at_once_and_it_says_so() {
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 64 && exec \"$0\" --requests 300 --strategies none --json",
        ])
        .arg(&*PROGRAM)
        .output()
        .unwrap();
    let told = first_line(&output.stderr);
    assert!(
        told.starts_with("none: at most 32 requests at once: "),
        "{told}"
    );
    let rows = rows(&output);
    assert_eq!(
        (count(&rows[0], "sent"), count(&rows[0], "failed")),
        (300, 0)
    );
}

#[test]
fn the_embedded_upstream_ends_with_the_other_end_of_its_input() {
    let mut upstream = Command::new(&*PROGRAM)
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(upstream.stdin.take());
    let output = upstream.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(first_line(&output.stdout).starts_with("http://127.0.0.1:"));
}

#[test]
fn a_gate_that_listens_wastes_nothing_at_an_upstream_that_limits_a_rate() {
    let arguments = [
        "--upstream",
        "rate",
        "--strategies",
        "gate",
        "--hints",
        "--requests",
        "1000",
    ];
    let [row] = &json(&arguments)[..] else {
        panic!("one strategy");
    };
    assert_eq!(count(row, "succeeded"), 1_000);
    assert!(count(row, "sent") < 1_050, "{row:?}");
}
