//! What a run keeps in memory.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use allocation_counter::measure;
use tidegate_batch::Batch;
use tokio::runtime::Builder;
use tower::service_fn;

const REQUESTS: usize = 1_000_000;
const WINDOW: usize = 100;

/// Bytes at the peak for each try that is under way: its task with its request, its entry in the map of
/// tries, its result.
const BYTES: usize = 1_024;

/// What there is once: the histogram of latencies, the queue of the runtime, and so on.
const ONCE: usize = 64 * 1_024;

/// Runs `requests` and returns the most bytes there were at once, of this one thread.
fn peak(requests: usize, in_order: bool, fails: bool) -> usize {
    // In paused time: a longer latency makes for a larger histogram.
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, seen) = (Arc::clone(&now), Arc::clone(&most));
    let service = service_fn(move |request: u64| {
        seen.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
        let inside = Arc::clone(&inside);
        async move {
            tokio::task::yield_now().await;
            inside.fetch_sub(1, SeqCst);
            Ok::<_, Infallible>(request)
        }
    });
    let allocations = measure(|| {
        runtime.block_on(async {
            let batch = Batch::new(service, 0..requests as u64)
                .window(WINDOW)
                .again(1, |request| Some(*request));
            let batch = if in_order { batch.in_order() } else { batch };
            let run = batch.each(move |_, _| ready(if fails { Err("down") } else { Ok(()) }));
            let summary = run.run().await;
            assert_eq!(summary.counts.ended(), requests);
            assert_eq!(summary.counts.failed > 0, fails);
        });
    });
    assert_eq!(most.load(SeqCst), WINDOW);
    usize::try_from(allocations.bytes_max).unwrap()
}

#[test]
fn a_million_requests_take_no_more_memory_than_a_window_of_them() {
    let million = peak(REQUESTS, false, false);
    assert!(million <= ONCE + WINDOW * BYTES, "{million} bytes");
    println!("{million} bytes");
}

#[test]
fn neither_input_order_nor_failures_make_memory_grow_with_the_input() {
    for (in_order, fails) in [(true, false), (false, true), (true, true)] {
        let [few, many] = [10_000, 50_000].map(|requests| peak(requests, in_order, fails));
        assert!(many <= few + few / 20, "{few} bytes, then {many}");
        assert!(many <= ONCE + 2 * WINDOW * BYTES, "{many} bytes");
    }
}
