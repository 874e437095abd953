//! What a law costs per request: `on_start` and `on_sample`, in steady state.
//!
//! `cargo bench -p tidegate-control`. Prints the median and the least of many batches; the bar is
//! 30 ns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tidegate_control::{Aimd, Pid, Prober};
use tidegate_core::{Cause, Change, Controller, Outcome, Sample, Setting};

const BATCH: u32 = 100_000;
const BATCHES: usize = 200;
const LATENCY: Duration = Duration::from_millis(40);

fn main() {
    measure("the harness alone", &mut Nothing, 0);
    let phase = Duration::from_secs(3);
    measure("prober", &mut Prober::new(phase).max(200), 0);
    measure("governor", &mut Pid::new(phase).max(200), 0);
    measure(
        "governor, 1 % overloads",
        &mut Pid::new(phase).max(200),
        100,
    );
    measure("aimd", &mut Aimd::new().max(200), 0);
}

/// No law, to see what the harness costs.
#[derive(Debug)]
struct Nothing;

impl Controller for Nothing {
    fn on_sample(&mut self, _now: Instant, _sample: &Sample) -> Option<Change> {
        None
    }

    fn setting(&self) -> Setting {
        Setting::limit(200.0)
    }

    fn move_to(&mut self, _now: Instant, _limit: f64) {}
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}

/// One in `overload_each` requests is overloaded; 0: none.
fn measure(name: &str, law: &mut impl Controller, overload_each: u32) {
    let mut now = clock();
    let mut turn = 0;
    let mut step = |law: &mut dyn Controller| {
        turn += 1;
        now += Duration::from_micros(250);
        let overload = overload_each > 0 && turn % overload_each == 0;
        let outcome = if overload {
            Outcome::Overload(Cause::Unavailable)
        } else {
            Outcome::Success
        };
        // Latencies between 40 and 60 ms, always other ones.
        let latency = LATENCY
            + Duration::from_nanos(u64::from(turn.wrapping_mul(2_654_435_761) % 20_000_000));
        let in_flight = law.setting().limit as usize;
        law.on_start(now, in_flight);
        let sample = Sample {
            started: now.checked_sub(latency).unwrap_or(now),
            latency: Some(latency),
            in_flight_at_start: in_flight,
            in_flight,
            outcome,
            retry_after: None,
        };
        black_box(law.on_sample(now, &sample));
    };
    let mut nanos: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let began = clock();
            (0..BATCH).for_each(|_| step(black_box(law)));
            (clock() - began).as_secs_f64() * 1e9 / f64::from(BATCH)
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    println!(
        "{name:>24}: {:5.1} ns, at best {:5.1}",
        nanos[BATCHES / 2],
        nanos[0]
    );
}
