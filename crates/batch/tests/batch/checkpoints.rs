//! Runs that are taken up again.

use std::convert::Infallible;
use std::fmt::Write;
use std::fs;
use std::future::{poll_fn, ready};
use std::path::Path;

use futures_util::{FutureExt, StreamExt, stream};
use tidegate_batch::{Batch, Checkpoint, CheckpointError, Stopped, Summary};
use tokio::time::sleep;
use tower::service_fn;

use crate::support::{Log, ms, no_file};

async fn slow(request: usize) -> Result<usize, Infallible> {
    sleep(ms(10)).await;
    Ok(request)
}

/// Ten requests, of which those that `fails` says fail.
async fn run(checkpoint: impl Into<Checkpoint>, log: &Log, fails: fn(usize) -> bool) -> Summary {
    let log = log.clone();
    Batch::new(service_fn(slow), 0..10)
        .window(2)
        .resume_from(checkpoint)
        .each(move |index, _| {
            log.add(index);
            async move { if fails(index) { Err("failed") } else { Ok(()) } }
        })
        .run()
        .await
}

fn never(_: usize) -> bool {
    false
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_done_is_not_sent_again_and_what_failed_is() {
    let file = no_file("failed.idx");
    let log = Log::default();
    let summary = run(&file, &log, |index| index % 3 == 0).await;
    assert_eq!((summary.counts.succeeded, summary.counts.failed), (6, 4));
    let mut written = lines(&file);
    assert_eq!(written.remove(0), "tidegate-batch 1 requests=10 label=\"\"");
    assert_eq!(written, ["1", "2", "4", "5", "7", "8"]);

    let log = Log::default();
    let summary = run(&file, &log, never).await;
    assert_eq!(log.all(), [0, 3, 6, 9]);
    assert_eq!((summary.counts.succeeded, summary.counts.skipped), (4, 6));

    let log = Log::default();
    let summary = run(&file, &log, never).await;
    assert!(log.all().is_empty() && summary.stopped.is_none());
    assert_eq!((summary.counts.ended(), summary.counts.skipped), (0, 10));
    let text = summary.to_string();
    assert!(
        text.contains("0 succeeded, 10 done before; 0 tries"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_dropped_goes_on_with_what_was_under_way() {
    let file = no_file("dropped.idx");
    let run = |log: &Log| {
        let log = log.clone();
        Batch::new(service_fn(slow), 0..10)
            .window(4)
            .resume_from(&file)
            .each(move |index, answer| {
                log.add(index);
                async move { answer }
            })
    };
    let log = Log::default();
    let mut results = run(&log);
    for _ in 0..5 {
        results.next().await.unwrap();
    }
    assert!(results.next().now_or_never().is_some());
    drop(results);
    assert_eq!(log.all(), [0, 1, 2, 3, 4, 5, 6, 7]);
    // What was done with the sixth nobody knows.
    assert_eq!(lines(&file).len(), 1 + 5);

    let log = Log::default();
    let rest: Vec<_> = run(&log).map(|ended| ended.index).collect().await;
    assert_eq!(rest, [5, 6, 7, 8, 9]);
}

#[tokio::test(start_paused = true)]
async fn in_input_order_what_is_held_back_is_not_written_down_before_it_is_taken() {
    let file = no_file("held.idx");
    let service = service_fn(|request: usize| async move {
        sleep(ms(10 * request as u64)).await;
        Ok::<_, Infallible>(())
    });
    let mut results = Batch::new(service, [5, 1, 2, 9])
        .in_order()
        .resume_from(&file)
        .each(|_, answer| async move { answer });
    assert!(results.next().now_or_never().is_none());
    sleep(ms(30)).await;
    assert!(results.next().now_or_never().is_none());
    assert_eq!(lines(&file).len(), 1);
    assert_eq!(results.next().await.unwrap().index, 0);
    assert_eq!(results.next().await.unwrap().index, 1);
    assert_eq!(lines(&file)[1..], ["0"]);
    // Whoever asks for the summary is done with what was taken.
    let summary = results.into_summary();
    assert_eq!(lines(&file)[1..], ["0", "1"]);
    assert_eq!(summary.left.begun, [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_an_order_to_see_writes_down_what_is_done_at_once() {
    let file = no_file("at-once.idx");
    let written = file.clone();
    let summary = Batch::new(service_fn(slow), 0..2)
        .in_order()
        .resume_from(&file)
        .each(move |index, answer| {
            let written = written.clone();
            async move {
                if index == 0 {
                    sleep(ms(10)).await;
                    assert_eq!(lines(&written)[1..], ["1"]);
                }
                answer
            }
        })
        .run()
        .await;
    assert_eq!(summary.counts.succeeded, 2, "{summary}");
}

#[tokio::test(start_paused = true)]
async fn a_last_line_that_is_torn_is_ignored_and_overwritten() {
    let header = "tidegate-batch 1 requests=10 label=\"\"\n";
    for (text, again) in [
        (format!("{header}1\n3\n0\n7"), vec![2, 4, 5, 6, 7, 8, 9]),
        (format!("{header}1\n3\n0\n\0\0"), vec![2, 4, 5, 6, 7, 8, 9]),
        // Longer than all that is written after it.
        (
            format!("{header}0\n1\n2\n3\n4\n5\n6\n7\n8\n{}", "\0".repeat(50)),
            vec![9],
        ),
        (header.to_owned(), (0..10).collect()),
        (header[..20].to_owned(), (0..10).collect()),
        (header.trim_end().to_owned(), (0..10).collect()),
        (String::new(), (0..10).collect()),
    ] {
        let file = no_file("torn.idx");
        fs::write(&file, &text).unwrap();
        let log = Log::default();
        assert!(run(&file, &log, never).await.stopped.is_none(), "{text:?}");
        assert_eq!(log.all(), again, "{text:?}");
        let mut done: Vec<usize> = lines(&file)[1..]
            .iter()
            .map(|line| line.parse().unwrap())
            .collect();
        done.sort_unstable();
        assert_eq!(done, (0..10).collect::<Vec<_>>(), "{text:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_of_something_else_is_refused_and_stays_as_it_is() {
    let foreign = [
        "tidegate-batch 1 requests=11 label=\"\"\n0\n",
        "tidegate-batch 1 requests=? label=\"\"\n",
        "tidegate-batch 2 requests=10 label=\"\"\n",
        "tidegate-batch 1 requests=10 label=\"others\"\n3\n",
        "# My diary\n",
        "a line without end, such as this one is, of whatever it may be that somebody keeps",
        "\n",
        "7",
    ];
    for text in foreign {
        let file = no_file("foreign.idx");
        fs::write(&file, text).unwrap();
        let log = Log::default();
        let summary = run(&file, &log, never).await;
        let Some(Stopped::Checkpoint(error)) = &summary.stopped else {
            panic!("{text:?} was taken: {summary}");
        };
        assert!(matches!(error, CheckpointError::Foreign { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("is not the checkpoint of this run")
        );
        assert_eq!(summary.left.count(), Some(10));
        assert!(log.all().is_empty());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_index_of_the_run_is_told_with_its_number() {
    for found in [
        "10",
        "-1",
        "x",
        "",
        " 3",
        "+3",
        "99999999999999999999999",
        &"4".repeat(200),
    ] {
        let file = no_file("damaged.idx");
        let text = format!("tidegate-batch 1 requests=10 label=\"\"\n2\n{found}\n4\n");
        fs::write(&file, &text).unwrap();
        let summary = run(&file, &Log::default(), never).await;
        let told = summary.to_string();
        assert!(told.contains("is damaged: line 3 is "), "{found:?}: {told}");
        assert_eq!(
            (summary.counts.tries, fs::read_to_string(&file).unwrap()),
            (0, text)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_stream_an_index_that_no_request_can_have_is_no_line_either() {
    let file = no_file("largest.idx");
    let text = format!("tidegate-batch 1 requests=? label=\"\"\n{}\n", usize::MAX);
    fs::write(&file, text).unwrap();
    let input = stream::iter(0..3).filter(|_| ready(true));
    let summary = Batch::stream(service_fn(slow), input)
        .resume_from(&file)
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert!(summary.to_string().contains("is damaged: line 2 is "));
}

#[tokio::test(start_paused = true)]
async fn of_two_runs_at_once_the_second_is_refused_and_sends_nothing() {
    let file = no_file("twice.idx");
    let log = Log::default();
    let mut first = Box::pin(run(&file, &log, never));
    assert!((&mut first).now_or_never().is_none());
    let other = Log::default();
    let second = run(&file, &other, never).await;
    let Some(Stopped::Checkpoint(CheckpointError::InUse { path })) = &second.stopped else {
        panic!("not refused: {second}");
    };
    assert_eq!((path, other.all().len()), (&file, 0));
    assert_eq!(second.left.count(), Some(10));
    drop(first);
    // The first has given it back; so does one that is over.
    let mut results = Batch::new(service_fn(slow), 0..10)
        .resume_from(&file)
        .each(|index, _| async move { if index < 3 { Err("failed") } else { Ok(()) } });
    while results.next().await.is_some() {}
    assert_eq!(run(&file, &other, never).await.counts.succeeded, 3);
    assert_eq!(results.into_summary().counts.succeeded, 7);
}

#[tokio::test(start_paused = true)]
async fn a_label_tells_runs_of_one_length_apart() {
    let file = no_file("labelled.idx");
    let labelled = |label: &str| Checkpoint::new(&file).label(label);
    let log = Log::default();
    assert!(run(labelled("a\nb"), &log, never).await.stopped.is_none());
    assert!(run(labelled("c"), &log, never).await.stopped.is_some());
    let summary = run(labelled("a\nb"), &log, never).await;
    assert_eq!((summary.counts.skipped, log.all().len()), (10, 10));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_made_stops_the_run_before_it_sends() {
    let nowhere = no_file("nowhere").join("done.idx");
    // A program that runs can be written by nobody, where a file that may only be read is root's too.
    let program = std::env::current_exe().unwrap();
    let mut files = vec![nowhere.as_path(), env!("CARGO_TARGET_TMPDIR").as_ref()];
    if cfg!(target_os = "linux") {
        files.push(&program);
    }
    for file in files {
        let log = Log::default();
        let text = run(file, &log, never).await.to_string();
        assert!(
            text.contains("\nstopped: cannot use the checkpoint "),
            "{text}"
        );
        assert!(
            text.ends_with("; 10 left") && log.all().is_empty(),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
#[cfg(target_os = "linux")]
async fn a_file_that_cannot_be_written_any_more_stops_the_run() {
    // Empty to read, never written to: there is no room for the first line.
    let log = Log::default();
    let summary = run("/dev/full", &log, never).await;
    assert!(matches!(summary.stopped, Some(Stopped::Checkpoint(_))));
    assert!(log.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_taken_up_again_without_a_length() {
    let file = no_file("stream.idx");
    for (took, skipped) in [(3, 0), (9, 3)] {
        let input = stream::iter(0..took).filter(|_| ready(true));
        let summary = Batch::stream(service_fn(slow), input)
            .resume_from(&file)
            .each(|_, answer| async move { answer })
            .run()
            .await;
        assert_eq!(
            (summary.counts.skipped, summary.counts.succeeded),
            (skipped, took - skipped)
        );
    }
}

#[tokio::test]
async fn a_million_that_are_done_are_passed_over_without_keeping_others_waiting() {
    let file = no_file("million.idx");
    let mut text = String::from("tidegate-batch 1 requests=1000000 label=\"\"\n");
    for index in 0..999_999 {
        let _ = writeln!(text, "{index}");
    }
    fs::write(&file, text).unwrap();
    let fast = service_fn(async |request: usize| Ok::<_, Infallible>(request));
    let mut run = Box::pin(
        Batch::new(fast, 0..1_000_000)
            .resume_from(&file)
            .each(|_, answer| async move { answer })
            .run(),
    );
    let mut gave_way = 0;
    let summary = poll_fn(|context| {
        let polled = run.as_mut().poll(context);
        gave_way += u32::from(polled.is_pending());
        polled
    });
    let counts = summary.await.counts;
    assert_eq!((counts.skipped, counts.succeeded), (999_999, 1));
    assert!(gave_way > 900, "{gave_way}");
}

#[tokio::test(start_paused = true)]
async fn after_an_input_that_panicked_what_was_done_is_not_sent_again_and_all_else_is_sent_once() {
    let file = no_file("panicked.idx");
    let sent = Log::default();
    let run = |panics: bool| {
        let sent = sent.clone();
        let service = service_fn(move |request: usize| {
            sent.add(request);
            slow(request)
        });
        let input = (0..10).inspect(move |n| assert!(*n != 5 || !panics, "no five"));
        let batch = Batch::new(service, input).window(2).resume_from(&file);
        batch.each(|_, answer| async move { answer }).run()
    };
    tokio::spawn(run(true)).await.unwrap_err().into_panic();
    assert_eq!(sent.all(), [0, 1, 2, 3]);
    assert_eq!(lines(&file)[1..], ["0", "1", "2", "3"]);
    let summary = run(false).await;
    assert_eq!((summary.counts.skipped, summary.counts.succeeded), (4, 6));
    assert_eq!(sent.all(), (0..10).collect::<Vec<_>>());
}
