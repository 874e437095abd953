//! A disk that fills up in the middle of a run: for a process, a bound on the size of a file.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tidegate_batch::{Batch, Summary};
use tower::service_fn;

use crate::support::{Log, no_file};

const REQUESTS: usize = 1_000;

/// The file of the checkpoint, in the process whose files are bounded.
const CHECKPOINT: &str = "TIDEGATE_BATCH_FULL";

/// One at a time.
async fn run(checkpoint: &Path, log: &Log) -> Summary {
    let log = log.clone();
    Batch::new(
        service_fn(async |request: usize| Ok::<_, Infallible>(request)),
        0..REQUESTS,
    )
    .window(1)
    .resume_from(checkpoint)
    .each(move |index, answer| {
        log.add(index);
        async move { answer }
    })
    .run()
    .await
}

#[tokio::test]
async fn on_a_disk_that_fills_up_the_run_stops_and_only_what_was_not_written_is_sent_again() {
    if let Some(checkpoint) = env::var_os(CHECKPOINT) {
        let log = Log::default();
        let summary = run(checkpoint.as_ref(), &log).await;
        assert_eq!(log.all(), (0..log.all().len()).collect::<Vec<_>>());
        println!("sent {} of a run that says: {summary}", log.all().len());
        return;
    }
    let checkpoint = no_file("full.idx");
    let output = on_a_full_disk(checkpoint.clone().into());
    let said = String::from_utf8_lossy(&output.stdout);
    let sent = said.split_once("sent ").and_then(|(_, more)| {
        let (sent, _) = more.split_once(' ')?;
        sent.parse::<usize>().ok()
    });
    let sent = sent.unwrap_or_else(|| panic!("{output:?}"));
    for part in [
        format!("{sent} requests in "),
        format!(": {sent} succeeded; {sent} tries"),
        format!(
            "stopped: cannot use the checkpoint {}: ",
            checkpoint.display()
        ),
        format!("File too large (os error 27); {} left", REQUESTS - sent),
    ] {
        assert!(said.contains(&part), "{part:?} in {said}");
    }

    // All but the last of what was done is written down, and perhaps the half of that.
    let text = fs::read_to_string(&checkpoint).unwrap();
    let whole = text.matches('\n').count() - 1;
    assert_eq!(whole, sent - 1);
    let log = Log::default();
    let summary = run(&checkpoint, &log).await;
    assert_eq!(log.all(), (whole..REQUESTS).collect::<Vec<_>>());
    assert_eq!(
        (summary.counts.skipped, summary.counts.succeeded),
        (whole, REQUESTS - whole)
    );
    assert!(summary.stopped.is_none());
    assert_eq!(
        fs::read_to_string(&checkpoint).unwrap().lines().count(),
        1 + REQUESTS
    );
}

/// This test, as a process whose files hold a block. A write beyond that is an error rather than its end.
fn on_a_full_disk(checkpoint: OsString) -> Output {
    let name =
        "full::on_a_disk_that_fills_up_the_run_stops_and_only_what_was_not_written_is_sent_again";
    let bounded = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", bounded])
        .arg(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHECKPOINT, checkpoint)
        .output();
    output.expect("there is a shell")
}
