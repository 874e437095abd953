//! The example `crawl` as a program.

use std::env;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// `cargo test` builds it beside the tests; where only this test was asked for, it is built here.
fn crawl(arguments: &[&str]) -> Vec<Value> {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let name = format!("crawl{}", env::consts::EXE_SUFFIX);
    let program = folder.join("examples").join(name);
    if !program.exists() {
        let profile = folder.file_name().filter(|name| *name != "debug");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--example", "crawl", "--profile"])
            .arg(profile.unwrap_or("dev".as_ref()))
            .arg("--target-dir")
            .arg(folder.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.unwrap().success() && program.exists());
    }
    let output = Command::new(program).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_crawl_finds_every_page_and_each_host_has_its_delay_for_redirects_too() {
    let rows = crawl(&[
        "--sites=3",
        "--pages=12",
        "--delay=50",
        "--limit=1",
        "--json",
    ]);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let count = |field: &str| row[field].as_u64().unwrap();
        assert_eq!((count("pages"), count("redirected")), (12, 3), "{row}");
        // Its own 12 pages, 3 that have moved, and 3 that those lead to from the site before, which it
        // may know by then.
        let requests = count("requests");
        assert!((12 + 3..=12 + 3 + 3).contains(&requests), "{row}");
        assert_eq!(count("peak_in_flight"), 1, "{row}");
        let least = 0.05 * (requests - 1) as f64;
        assert!(row["seconds"].as_f64().unwrap() >= least, "{row}");
    }
}
