//! A process that is killed at twenty random points of a run.

use std::collections::HashSet;
use std::convert::Infallible;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::future::pending;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tidegate_batch::{Batch, Summary};
use tower::service_fn;

use crate::support::no_file;

const REQUESTS: usize = 40_000;
const WINDOW: usize = 16;
const KILLS: usize = 20;
/// After how many more requests it is killed at the latest.
const LATEST: u64 = 1_000;
/// After how many nothing is answered any more, however late whoever kills it is: no process ends by
/// itself, and after the last of them something is left to do.
const STUCK: usize = 1_900;

/// The file of the checkpoint; beside it are the logs of what was sent and what was done.
const CHECKPOINT: &str = "TIDEGATE_BATCH_KILLED";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_twenty_times_nothing_finished_is_sent_again_and_nothing_is_left_out() {
    if let Some(checkpoint) = env::var_os(CHECKPOINT) {
        drop(run(checkpoint.as_ref(), Duration::from_millis(1), STUCK).await);
        return;
    }
    let checkpoint = no_file("killed.idx");
    let [sent, done] = ["killed.sent", "killed.done"].map(no_file);
    let (mut recorded, mut seen) = (HashSet::new(), 0);
    for _ in 0..KILLS {
        let mut child = start(&checkpoint);
        let more = RandomState::new().hash_one(()) % LATEST;
        let until = size(&sent) + more * 6;
        while size(&sent) <= until {
            assert!(child.try_wait().unwrap().is_none(), "it ended unkilled");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it ended unkilled");

        let sends = lines(&sent);
        assert!(sends[seen..].iter().all(|index| !recorded.contains(index)));
        seen = sends.len();
        let finished: HashSet<_> = lines(&done).into_iter().collect();
        recorded = recorded_in(&checkpoint);
        assert!(recorded.is_subset(&finished));
    }

    let summary = run(&checkpoint, Duration::ZERO, REQUESTS).await;
    assert_eq!(summary.counts.skipped, recorded.len());
    assert_eq!(summary.counts.succeeded, REQUESTS - recorded.len());
    let sends = lines(&sent);
    assert!(sends[seen..].iter().all(|index| !recorded.contains(index)));
    // Those that were under way.
    let again = sends.len() - REQUESTS;
    assert!(again <= KILLS * WINDOW, "{again}");
    let finished: HashSet<_> = lines(&done).into_iter().collect();
    assert_eq!(finished.len(), REQUESTS);
    assert_eq!(recorded_in(&checkpoint).len(), REQUESTS);
}

/// This test, as a process of its own.
fn start(checkpoint: &Path) -> Child {
    let name = "killed::killed_twenty_times_nothing_finished_is_sent_again_and_nothing_is_left_out";
    Command::new(env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHECKPOINT, checkpoint)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |file| file.len())
}

fn lines(file: &Path) -> Vec<usize> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The lines that are whole, without the first.
fn recorded_in(checkpoint: &Path) -> HashSet<usize> {
    let text = fs::read_to_string(checkpoint).unwrap();
    let whole = text.split_inclusive('\n').skip(1);
    let whole = whole.filter_map(|line| line.strip_suffix('\n'));
    whole.map(|line| line.parse().unwrap()).collect()
}

/// Writes each index to a log when it is sent and, as long after that as `takes`, to another when it is
/// done; each by one write. No more than `most` are answered.
async fn run(checkpoint: &Path, takes: Duration, most: usize) -> Summary {
    let [sent, done] = ["sent", "done"].map(|which| log(&checkpoint.with_extension(which)));
    let answered = Arc::new(AtomicUsize::new(0));
    let service = service_fn(move |index: usize| {
        write(sent, index);
        let is_stuck = answered.fetch_add(1, Relaxed) >= most;
        async move {
            if is_stuck {
                pending::<()>().await;
            }
            Ok::<_, Infallible>(index)
        }
    });
    Batch::new(service, 0..REQUESTS)
        .window(WINDOW)
        .resume_from(checkpoint)
        .each(move |index, _| async move {
            if takes.is_zero() {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(takes).await;
            }
            write(done, index);
            Ok::<_, Infallible>(())
        })
        .run()
        .await
}

fn log(file: &Path) -> &'static File {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    Box::leak(Box::new(opened.unwrap()))
}

fn write(mut log: &File, index: usize) {
    log.write_all(format!("{index}\n").as_bytes()).unwrap();
}
