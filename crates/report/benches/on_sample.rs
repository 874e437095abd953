//! What a report costs per answer.
//!
//! `cargo bench -p tidegate-report`. Prints the median and the least of many batches; the bar is
//! 20 ns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tidegate_core::{Cause, Change, Observer, Outcome, Reason, Sample, Setting};
use tidegate_report::Report;

/// Short, so that some of them are not interrupted.
const BATCH: u32 = 10_000;
const BATCHES: usize = 2_000;

fn main() {
    let nobody = Nobody;
    measure("the harness alone", &nobody, 250);
    measure("4,000 answers a second", &Report::new(), 250);
    measure("a million answers a second", &Report::new(), 1);
    let report = Report::new();
    measure("100 answers a second", &report, 10_000);
    let began = clock();
    black_box(report.table());
    println!("a table: {:?}", clock().duration_since(began));
    let began = clock();
    black_box(report.html());
    println!("a page: {:?}", clock().duration_since(began));
}

/// To see what the harness costs.
#[derive(Debug)]
struct Nobody;

impl Observer for Nobody {
    fn on_sample(&self, _now: Instant, _sample: &Sample) {}

    fn on_change(&self, _now: Instant, _change: &Change) {}
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}

/// An answer each `apart` microseconds, a change with each hundredth.
fn measure(name: &str, observer: &dyn Observer, apart: u64) {
    let mut now = clock();
    let mut turn = 0_u32;
    let mut step = || {
        turn += 1;
        now += Duration::from_micros(apart);
        // Latencies between 40 and 60 ms, always other ones.
        let spread = u64::from(turn.wrapping_mul(2_654_435_761) % 20_000_000);
        let sample = Sample {
            started: now,
            latency: Some(Duration::from_millis(40) + Duration::from_nanos(spread)),
            in_flight_at_start: 20,
            in_flight: 20,
            outcome: if turn.is_multiple_of(50) {
                Outcome::Overload(Cause::Throttled)
            } else {
                Outcome::Success
            },
            retry_after: None,
        };
        observer.on_sample(now, black_box(&sample));
        if turn.is_multiple_of(100) {
            let limit = f64::from(turn / 100 % 32 + 1);
            let change = Change {
                from: Setting::limit(limit),
                to: Setting::limit(limit + 1.0),
                reason: Reason::Starting,
            };
            observer.on_change(now, black_box(&change));
        }
    };
    let mut nanos: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let began = clock();
            for _ in 0..BATCH {
                step();
            }
            let took = clock().duration_since(began);
            took.as_nanos() as f64 / f64::from(BATCH)
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    let (median, least) = (nanos[BATCHES / 2], nanos[0]);
    println!("{name:28} {median:6.1} ns, at least {least:6.1} ns");
}
