//! Cases that real limiters got wrong, on the shipped laws.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tidegate_control::{Pid, Prober};
use tidegate_core::{Change, Controller, Sample, Setting};
use tidegate_sim::{Record, Scenario, Seat, run};

use crate::common::{closed, scenario};

/// When a limit moved, in seconds since the start, and where to.
type Moves = Arc<Mutex<Vec<(f64, f64)>>>;

/// A law whose moves are written down.
#[derive(Debug)]
struct Watched<L> {
    law: L,
    start: Instant,
    moves: Moves,
}

impl<L: Controller> Controller for Watched<L> {
    fn on_start(&mut self, now: Instant, in_flight: usize) {
        self.law.on_start(now, in_flight);
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        let change = self.law.on_sample(now, sample);
        if let Some(change) = &change
            && change.from.limit.to_bits() != change.to.limit.to_bits()
        {
            let at = now.duration_since(self.start).as_secs_f64();
            eprintln!(
                "C {at:.3} {:.1} -> {:.1} {}",
                change.from.limit, change.to.limit, change.reason
            );
            self.moves.lock().unwrap().push((at, change.to.limit));
        }
        change
    }

    fn setting(&self) -> Setting {
        self.law.setting()
    }

    fn move_to(&mut self, now: Instant, limit: f64) {
        self.law.move_to(now, limit);
    }
}

/// One run of one client, and the moves of its law.
fn watch<L: Controller + Send + 'static>(
    scenario: &Scenario,
    seed: u64,
    law: impl Fn(&Seat) -> L + Sync,
) -> (Record, Vec<(f64, f64)>) {
    let moves = Moves::default();
    let record = run(scenario, seed, &|seat| {
        Box::new(Watched {
            law: law(seat),
            start: seat.now,
            moves: Arc::clone(&moves),
        })
    });
    let moves = moves.lock().unwrap().clone();
    (record, moves)
}

/// The mean of a limit over time, `from` and `to` in seconds.
fn mean(moves: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let (mut at, mut limit, mut sum) = (from, 1.0, 0.0);
    for &(when, next) in moves.iter().filter(|(when, _)| *when < to) {
        if when > at {
            sum += limit * (when - at);
            at = when;
        }
        limit = next;
    }
    (sum + limit * (to - at)) / (to - from)
}

fn prober(seat: &Seat) -> Prober {
    Prober::new(seat.phase)
}

fn governor(seat: &Seat) -> Pid {
    Pid::new(seat.phase)
}

/// O-CTRL-04. A round moves a limit once, so it cannot turn twice in one; here it turns in fewer than
/// every second round of some 100 ms.
#[test]
fn a_trickle_of_errors_neither_stops_a_recovery_nor_makes_it_flap() {
    let scenario = closed(
        "rtt = \"10ms\"\nduration = \"200s\"",
        "kind = \"fifo\"\nworkers = 40\nqueue = 10\nservice = { exponential = \"40ms\" }\nreject = 503",
        "[[step]]\nat = \"20s\"\ncapacity = 0.2\n\
         [[step]]\nat = \"80s\"\ncapacity = 1\n\
         [background]\nshare = 0.004\nstatus = 503",
    );
    for seed in 1..=10 {
        for moves in [
            watch(&scenario, seed, prober).1,
            watch(&scenario, seed, governor).1,
        ] {
            let before = mean(&moves, 10.0, 20.0);
            // Two minutes are allowed; it takes less than ten seconds. Over two probes of the base: one
            // that is measured too low holds the limit down until the next.
            let after = mean(&moves, 90.0, 110.0);
            assert!(after >= 0.8 * before, "{seed}: {after} after {before}");
            let last = mean(&moves, 100.0, 200.0);
            assert!(last >= 0.8 * before, "{seed}: {last} after {before}");
            let steady: Vec<f64> = moves
                .iter()
                .filter(|(at, _)| *at > 100.0)
                .map(|(_, limit)| *limit)
                .collect();
            let turns = |w: &&[f64]| (w[1] - w[0]) * (w[2] - w[1]) < 0.0;
            let turns = steady.windows(3).filter(turns).count();
            assert!(turns < 500, "{seed}: {turns} turns in 100 s");
        }
    }
}

/// Where each takes as long as the other, refusals come in bursts and a round holds nothing else.
#[test]
fn at_an_edge_that_is_hard_no_more_than_the_setpoint_fails() {
    for (mean, waste) in [("20ms", 0.01), ("100ms", 0.03)] {
        let scenario = closed(
            "rtt = \"1ms\"\nduration = \"20s\"",
            &format!(
                "kind = \"fifo\"\nworkers = 8\nqueue = 0\n\
                 service = {{ lognormal = {{ mean = \"{mean}\", cv = 0 }} }}\nreject = 503"
            ),
            "",
        );
        let record = watch(&scenario, 1, governor).0;
        assert!(record.waste() < waste, "{mean}: {}", record.waste());
    }
}

/// O-CTRL-05. Probes are aligned, not jittered: clients that probe together see the whole queue fall.
/// A probe refuses nobody, so what it costs is what the service could have done meanwhile.
#[test]
fn twenty_instances_that_probe_together_lose_five_percent_of_a_period_at_most() {
    for clients in [1, 20] {
        let all = vec!["\"0s\""; clients].join(", ");
        let scenario = closed(
            &format!("rtt = \"10ms\"\nduration = \"120s\"\nclients = [{all}]"),
            "kind = \"fifo\"\nworkers = 100\nservice = { exponential = \"40ms\" }",
            "",
        );
        for seed in 1..=3 {
            let record = run(&scenario, seed, &|seat| Box::new(prober(seat)));
            let period = (10.0 / record.series.tick.as_secs_f64()).round() as usize;
            let shares: Vec<f64> = record.series.points[2 * period..]
                .chunks_exact(period)
                .map(|points| points.iter().map(|p| f64::from(p.successes)).sum::<f64>() / 25_000.0)
                .collect();
            assert!(shares.iter().all(|share| *share >= 0.95), "{shares:?}");
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!(mean >= 0.98, "{mean}");
        }
    }
}

/// O-CTRL-06: an hour at 1/200 of the speed, where 20 in flight take 10 s.
#[test]
fn an_incident_of_an_hour_never_raises_the_limit_above_its_first_two_minutes() {
    let scenario = closed(
        "rtt = \"10ms\"\nduration = \"3920s\"",
        "kind = \"ps\"\ncapacity = 20\nservice = \"40ms\"",
        "[[step]]\nat = \"200s\"\ncapacity = 0.005\n[[step]]\nat = \"3800s\"\ncapacity = 1",
    );
    for moves in [
        watch(&scenario, 1, prober).1,
        watch(&scenario, 1, governor).1,
    ] {
        let before = mean(&moves, 100.0, 200.0);
        let soon = mean(&moves, 310.0, 320.0);
        let incident = moves.iter().filter(|(at, _)| (320.0..3_800.0).contains(at));
        let most = incident.map(|(_, limit)| *limit).fold(0.0, f64::max);
        assert!(soon < before && most <= soon, "{before}, {soon}, {most}");
        let after = mean(&moves, 3_810.0, 3_920.0);
        assert!(after >= 0.8 * before, "{after} after {before}");
    }
}

/// O-CTRL-08, with ten minutes at the greatest limit and without.
#[test]
fn saturation_makes_a_step_down_no_slower() {
    let takes = |at: u32, seed| {
        let scenario = closed(
            &format!("rtt = \"10ms\"\nduration = \"{}s\"", at + 20),
            "kind = \"fifo\"\nworkers = 1000\nqueue = 0\nservice = \"40ms\"\nreject = 503",
            &format!("[[step]]\nat = \"{at}s\"\ncapacity = 0.01"),
        );
        let (_, moves) = watch(&scenario, seed, |seat| Pid::new(seat.phase).max(40));
        let at = f64::from(at);
        assert!((mean(&moves, at - 1.0, at) - 40.0).abs() < 1e-9);
        [20.0, 15.0, 12.0].map(|low| {
            let below = moves.iter().find(|(when, to)| *when > at && *to <= low);
            below.map_or(f64::INFINITY, |(when, _)| when - at)
        })
    };
    let (short, long) = (takes(5, 1), takes(605, 1));
    for (short, long) in short.into_iter().zip(long) {
        // A round is one latency at least: 50 ms.
        assert!((short - long).abs() <= 0.05, "{short} s and {long} s");
    }
}

/// O-CTRL-09: 1,600 at once, 20 permits, 300 a second, refusals after 5 ms. The case allows a share of
/// 5 %; a request is lost with its fourth refusal, so 64 refusals lose 1 % at most.
///
/// Both hold for the prober in front of a bucket. The governor is refused up to 67 times, 4.0 %, where
/// latencies spread a little; if all take 50 ms to the nanosecond, answers stay in step and it is 8.4 %.
/// In front of a quota per second the prober is refused 7 to 10 % and the governor 5 to 9 %, and the batch
/// takes 8 to 20 s instead of 5: the weak spot of a law that finds a rate by breaking it.
#[test]
fn a_batch_in_front_of_a_rate_is_refused_little() {
    let bucket = "kind = \"bucket\"\nrate = 300\nburst = 15";
    let window = "kind = \"window\"\nlimit = 300\nper = \"1s\"";
    let even = "\"45ms\"";
    let spread = "{ lognormal = { mean = \"45ms\", cv = 0.1 } }";
    for (server, service, most) in [
        (bucket, even, [64, 150]),
        (bucket, spread, [64, 70]),
        (window, spread, [185, 195]),
    ] {
        let scenario = scenario(
            "rtt = \"5ms\"",
            &format!("{server}\nservice = {service}"),
            "kind = \"batch\"\nrequests = 1600",
            "",
        );
        for seed in 1..=5 {
            let prober = |seat: &Seat| prober(seat).start(20).max(20);
            let governor = |seat: &Seat| governor(seat).start(20).max(20);
            let records = [
                watch(&scenario, seed, prober).0,
                watch(&scenario, seed, governor).0,
            ];
            for (record, most) in records.iter().zip(most) {
                assert_eq!(record.successes, 1_600);
                let refused = record.overloads;
                assert!(refused <= most, "{server}, seed {seed}: {refused}");
            }
        }
    }
}
