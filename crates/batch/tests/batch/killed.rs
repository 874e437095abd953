//! A process that is killed in the middle of a run.

use std::convert::Infallible;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tidegate_batch::{Batch, Summary};
use tower::service_fn;

use crate::support::no_file;

const REQUESTS: usize = 20_000;
const WINDOW: usize = 16;
const KILLS: usize = 4;

/// The file of the checkpoint; beside it is the log of what was done.
const CHECKPOINT: &str = "TIDEGATE_BATCH_KILLED";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_and_taken_up_again_only_what_was_under_way_is_done_twice() {
    if let Some(checkpoint) = env::var_os(CHECKPOINT) {
        drop(run(checkpoint.as_ref(), true).await);
        return;
    }
    let checkpoint = no_file("killed.idx");
    let log = no_file("killed.log");
    for kill in 1..=KILLS {
        let mut child = start(&checkpoint);
        let told = child.stdout.take().unwrap();
        let lines = BufReader::new(told).lines().map_while(Result::ok);
        let done = lines
            .filter(|line| line.starts_with("done "))
            .nth(1_000 * kill);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(done.is_some(), "it ended before it could be killed");
    }
    let written = recorded(&checkpoint);
    assert!(written > 1_000 && written < REQUESTS, "{written} done");

    let summary = run(&checkpoint, false).await;
    assert_eq!(summary.counts.skipped, written);
    assert_eq!(summary.counts.succeeded, REQUESTS - written);

    let mut times = vec![0; REQUESTS];
    for line in fs::read_to_string(&log).unwrap().lines() {
        times[line.parse::<usize>().unwrap()] += 1;
    }
    let missing = times.iter().filter(|times| **times == 0).count();
    let again: usize = times.iter().map(|times| *times - 1).sum();
    assert_eq!(missing, 0);
    assert!(again <= KILLS * WINDOW, "{again} done again");
}

/// This test, as a process of its own.
fn start(checkpoint: &Path) -> Child {
    let name = "killed::killed_and_taken_up_again_only_what_was_under_way_is_done_twice";
    Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHECKPOINT, checkpoint)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many lines are whole, without the first.
fn recorded(checkpoint: &Path) -> usize {
    let text = fs::read_to_string(checkpoint).unwrap();
    text.matches('\n').count() - 1
}

/// Writes each index to the log by one write, then is done with it.
async fn run(checkpoint: &Path, tells: bool) -> Summary {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(checkpoint.with_extension("log"))
        .unwrap();
    let log: &'static File = Box::leak(Box::new(log));
    Batch::new(
        service_fn(async |n: usize| Ok::<_, Infallible>(n)),
        0..REQUESTS,
    )
    .window(WINDOW)
    .resume_from(checkpoint)
    .each(move |index, _| async move {
        tokio::task::yield_now().await;
        (&*log).write_all(format!("{index}\n").as_bytes())?;
        if tells {
            println!("done {index}");
        }
        std::io::Result::Ok(())
    })
    .run()
    .await
}
