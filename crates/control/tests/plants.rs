//! The laws in front of small model servers: cases that real limiters got wrong.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use tidegate_control::{Pid, PidSettings, Prober};
use tidegate_core::{Cause, Controller, Outcome, Sample};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const REFUSED: Outcome = Outcome::Overload(Cause::Unavailable);

/// A server with so many workers, in front of a law and a caller who always has more to send.
struct Plant<L> {
    law: L,
    origin: Instant,
    now: u64,
    workers: usize,
    /// How many may wait for a worker; more are refused.
    queue: usize,
    service: u64,
    /// What a refusal looks like, and what it takes.
    refusal: (Outcome, u64),
    /// Of so many requests one fails like this at once.
    noise: Option<(u64, Outcome)>,
    /// From when on it is out for so long in each so long.
    outages: Option<(u64, u64, u64)>,
    /// The most that the caller has in flight.
    offered: usize,
    /// Per second, and tokens at most.
    quota: Option<(f64, f64)>,
    tokens: f64,
    filled: u64,
    random: u64,
    /// When the pace lets the next one start.
    next: u64,
    in_flight: usize,
    /// When a worker is free again.
    busy: BinaryHeap<Reverse<u64>>,
    /// When an answer comes, when its request was sent with how many in flight, and what it says.
    answers: BinaryHeap<Reverse<(u64, u64, usize, u8)>>,
    successes: u64,
    refused: u64,
}

impl<L: Controller> Plant<L> {
    fn new(law: L, workers: usize, service: u64) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin for instants by addition"
        )]
        let origin = Instant::now();
        Self {
            law,
            origin,
            now: 0,
            workers,
            queue: usize::MAX,
            service,
            refusal: (REFUSED, 2 * MS),
            noise: None,
            outages: None,
            offered: usize::MAX,
            quota: None,
            tokens: 0.0,
            filled: 0,
            random: 1,
            next: 0,
            in_flight: 0,
            busy: BinaryHeap::new(),
            answers: BinaryHeap::new(),
            successes: 0,
            refused: 0,
        }
    }

    fn at(&self, nanos: u64) -> Instant {
        self.origin + Duration::from_nanos(nanos)
    }

    fn limit(&self) -> f64 {
        self.law.setting().limit
    }

    /// xorshift64 (Marsaglia 2003): tests are the same on every run.
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn run(&mut self, seconds: u64) {
        self.run_for(seconds * SECOND);
    }

    fn run_for(&mut self, nanos: u64) {
        let end = self.now + nanos;
        loop {
            self.send();
            // A pace or a pause may let somebody in before the next answer.
            let next = self.answers.peek().map_or(u64::MAX, |next| next.0.0);
            let tick = self.now + MS;
            let waits = self.law.setting().pace.is_some() || next > tick;
            let step = if waits { next.min(tick) } else { next };
            if step > end {
                self.now = end;
                return;
            }
            self.now = step;
            if step == next {
                self.answer();
            }
        }
    }

    fn may_send(&self) -> bool {
        let setting = self.law.setting();
        let paused = setting
            .pause_until
            .is_some_and(|until| until > self.at(self.now));
        let paced = setting.pace.is_some() && self.next > self.now;
        !paused && !paced && self.in_flight < (setting.limit as usize).max(1).min(self.offered)
    }

    fn send(&mut self) {
        while self.may_send() {
            self.in_flight += 1;
            self.law.on_start(self.at(self.now), self.in_flight);
            let (outcome, takes) = self.serve();
            let code = match outcome {
                Outcome::Success => 0,
                Outcome::Failure => 1,
                _ => 2,
            };
            let answer = (self.now + takes, self.now, self.in_flight, code);
            self.answers.push(Reverse(answer));
            if let Some(pace) = self.law.setting().pace {
                let period = pace.period().as_nanos() as u64;
                self.next = self.next.max(self.now.saturating_sub(period)) + period;
            }
        }
    }

    fn serve(&mut self) -> (Outcome, u64) {
        if let Some((each, outcome)) = self.noise
            && self.random().is_multiple_of(each)
        {
            return (outcome, 2 * MS);
        }
        if let Some((from, length, period)) = self.outages
            && (self.now - from) % period < length
        {
            return self.refusal;
        }
        if let Some((rate, burst)) = self.quota {
            let gained = (self.now - self.filled) as f64 / SECOND as f64 * rate;
            self.tokens = (self.tokens + gained).min(burst);
            self.filled = self.now;
            if self.tokens < 1.0 {
                return self.refusal;
            }
            self.tokens -= 1.0;
        }
        while self.busy.peek().is_some_and(|free| free.0 <= self.now) {
            self.busy.pop();
        }
        if self.busy.len() >= self.workers.saturating_add(self.queue) {
            return self.refusal;
        }
        let service = self.service * 9 / 10 + self.random() % (self.service / 5);
        let ahead = self.busy.len().saturating_sub(self.workers - 1);
        let mut free: Vec<u64> = self.busy.iter().map(|free| free.0).collect();
        let start = if ahead == 0 {
            self.now
        } else {
            *free.select_nth_unstable(ahead - 1).1
        };
        self.busy.push(Reverse(start + service));
        (Outcome::Success, start + service - self.now)
    }

    fn answer(&mut self) {
        let Some(Reverse((_, sent, in_flight_at_start, code))) = self.answers.pop() else {
            return;
        };
        let outcome = match code {
            0 => Outcome::Success,
            1 => Outcome::Failure,
            _ => self.refusal.0,
        };
        self.successes += u64::from(code == 0);
        self.refused += u64::from(code == 2);
        let sample = Sample {
            started: self.at(sent),
            latency: Some(Duration::from_nanos(self.now - sent)),
            in_flight_at_start,
            in_flight: self.in_flight,
            outcome,
            retry_after: None,
        };
        self.law.on_sample(self.at(self.now), &sample);
        self.in_flight -= 1;
    }
}

fn prober() -> Prober {
    Prober::new(Duration::ZERO).max(1_000)
}

#[test]
fn fast_errors_do_not_poison_the_base() {
    let limit = |noise| {
        let mut plant = Plant::new(prober(), 50, 100 * MS);
        plant.noise = noise;
        plant.run(60);
        plant.limit()
    };
    let (clean, noisy) = (limit(None), limit(Some((3, Outcome::Failure))));
    assert!(
        (0.7..1.3).contains(&(noisy / clean)),
        "{noisy} against {clean}"
    );
}

#[test]
fn resets_refusals_and_timeouts_all_lower_the_limit() {
    for (cause, takes) in [
        (Cause::Connection, MS),
        (Cause::Unavailable, 2 * MS),
        (Cause::TimedOut, 500 * MS),
    ] {
        let mut plant = Plant::new(prober().start(200), 10, 50 * MS);
        plant.queue = 0;
        plant.refusal = (Outcome::Overload(cause), takes);
        plant.run(30);
        let before = plant.refused;
        plant.run(30);
        let per_second = (plant.refused - before) / 30;
        assert!(plant.limit() < 30.0, "{cause:?}: {}", plant.limit());
        assert!(per_second < 38, "{cause:?}: {per_second} refused a second");
    }
}

#[test]
fn a_trickle_of_errors_does_not_stop_a_recovery() {
    let mut plant = Plant::new(prober(), 100, 50 * MS);
    plant.queue = 20;
    plant.run(20);
    let before = plant.limit();
    plant.workers = 20;
    plant.run(60);
    plant.workers = 100;
    plant.noise = Some((250, REFUSED));
    plant.run(120);
    assert!(
        plant.limit() > 0.7 * before,
        "{} after {before}",
        plant.limit()
    );
}

/// Of what the service could serve while it was up, the share that was served.
fn served_between(law: impl Controller, (length, period): (u64, u64)) -> f64 {
    let mut plant = Plant::new(law, 20, 20 * MS);
    plant.queue = 20;
    plant.refusal.1 = 10 * MS;
    plant.run(5);
    plant.outages = Some((plant.now, length, period));
    let before = plant.successes;
    plant.run(30);
    let up = 30.0 * (1.0 - length as f64 / period as f64);
    (plant.successes - before) as f64 / (1_000.0 * up)
}

#[test]
fn a_service_that_is_out_again_and_again_is_used_in_between() {
    for (length, period, least) in [
        (200, 2, 0.85),
        (500, 5, 0.85),
        (1_000, 5, 0.75),
        (1_000, 10, 0.85),
    ] {
        let outages = (length * MS, period * SECOND);
        let governor = Pid::new(Duration::ZERO).max(1_000);
        for share in [
            served_between(prober(), outages),
            served_between(governor, outages),
        ] {
            assert!(share > least, "{length} ms of {period} s: {share}");
        }
    }
}

/// Nothing for five seconds, some answers, and nothing for one more: no quota was used up.
#[test]
fn a_service_that_falls_once_more_while_it_comes_back_is_not_paced() {
    for up in [10, 300, 3_000] {
        let governor = Pid::new(Duration::ZERO).max(1_000);
        for served in [falls_again(prober(), up), falls_again(governor, up)] {
            assert!(served > 3.5, "up for {up} ms: {served}");
        }
    }
}

/// What is served of a second's capacity in the five seconds after both.
fn falls_again(law: impl Controller, up: u64) -> f64 {
    let mut plant = Plant::new(law, 100, 50 * MS);
    plant.queue = 40;
    plant.run(30);
    let (again, ever) = (SECOND, 1_000 * SECOND);
    plant.outages = Some((plant.now, 5 * SECOND, ever));
    plant.run(5);
    let before = plant.successes;
    while plant.successes == before {
        plant.run_for(MS);
    }
    plant.run_for(up * MS);
    plant.outages = Some((plant.now, again, ever));
    plant.run_for(again);
    let before = plant.successes;
    plant.run(5);
    (plant.successes - before) as f64 / 2_000.0
}

/// Half a second of nothing, and then a tenth of the workers.
#[test]
fn a_capacity_that_fell_in_an_outage_is_found_again() {
    let mut plant = Plant::new(prober(), 100, 50 * MS);
    plant.queue = 20;
    plant.run(20);
    plant.outages = Some((plant.now, 500 * MS, 1_000 * SECOND));
    plant.run(1);
    plant.workers = 10;
    plant.queue = 2;
    let (served, refused) = (plant.successes, plant.refused);
    plant.run(60);
    let refused = (plant.refused - refused) as f64;
    let served = (plant.successes - served) as f64;
    assert!(served > 0.9 * 200.0 * 60.0, "{served}");
    assert!(refused < 0.06 * served, "{refused} of {served}");
}

/// O-CTRL-06 where nothing that we do helps: each request takes 10 s, alone or not. By choice that is a
/// new base, so the limit comes back to where it was before, which is above its value in the first
/// minutes; never higher.
#[test]
fn an_hour_of_slow_answers_raises_the_limit_no_higher_than_before() {
    let mut plant = Plant::new(prober(), 20, 50 * MS);
    plant.run(60);
    let before = plant.limit();
    plant.service = 10 * SECOND;
    for _ in 0..360 {
        plant.run(10);
        let limit = plant.limit();
        assert!(limit <= 1.1 * before, "{limit} after {before}");
    }
    plant.service = 50 * MS;
    plant.run(120);
    let served = plant.successes;
    plant.run(10);
    assert!(
        plant.successes - served > 3_600,
        "{}",
        plant.successes - served
    );
}

#[test]
fn a_capacity_of_two_hundred_is_found_from_ten_and_from_four_hundred() {
    for start in [10, 400] {
        let mut plant = Plant::new(prober().start(start), 200, 50 * MS);
        plant.run(30);
        assert!((160.0..300.0).contains(&plant.limit()), "{}", plant.limit());
    }
}

#[test]
fn headroom_that_nobody_uses_is_not_evidence() {
    let mut plant = Plant::new(prober(), 200, 50 * MS);
    plant.offered = 2;
    plant.run(200);
    assert!(plant.limit() <= 5.0, "{}", plant.limit());
    plant.offered = 500;
    plant.run(10);
    assert!(plant.limit() >= 160.0, "{}", plant.limit());
}

#[test]
fn a_burst_above_a_rate_wastes_little() {
    let mut plant = Plant::new(prober().start(20), 1_000, 50 * MS);
    plant.quota = Some((300.0, 15.0));
    plant.refusal = (Outcome::Overload(Cause::Throttled), 5 * MS);
    plant.run(30);
    let waste = plant.refused as f64 / (plant.refused + plant.successes) as f64;
    assert!(plant.successes > 8_000, "{}", plant.successes);
    assert!(waste < 0.05, "{waste}");
}

#[test]
fn time_at_the_greatest_limit_does_not_wind_up() {
    let steps_down = |saturated| {
        let mut plant = Plant::new(Pid::new(Duration::ZERO).max(40), 1_000, 50 * MS);
        plant.run(saturated);
        plant.workers = 10;
        plant.queue = 0;
        plant.run(3);
        plant.limit()
    };
    let (short, long) = (steps_down(10), steps_down(200));
    assert!((short - long).abs() <= 0.3 * short, "{short} and {long}");
}

#[test]
fn failures_above_the_setpoint_that_load_does_not_cause_leave_the_limit_alone() {
    let mut plant = Plant::new(Pid::new(Duration::ZERO), 100, 50 * MS);
    plant.noise = Some((8, Outcome::Failure));
    plant.run(60);
    assert!(plant.limit() > 80.0, "{}", plant.limit());
}

#[test]
fn the_governor_holds_the_failures_that_load_causes_near_its_setpoint() {
    let mut plant = Plant::new(Pid::new(Duration::ZERO).setpoint(0.05), 30, 50 * MS);
    plant.queue = 0;
    plant.refusal.1 = 50 * MS;
    plant.run(20);
    let (served, refused) = (plant.successes, plant.refused);
    plant.run(60);
    let refused = (plant.refused - refused) as f64;
    let share = refused / (refused + (plant.successes - served) as f64);
    assert!(share < 0.08, "{share}");
    let settings = PidSettings {
        setpoint: 0.01,
        ..plant.law.settings()
    };
    let before = plant.limit();
    plant.law.set(settings).unwrap();
    assert!((plant.limit() - before).abs() < 1e-9);
}
