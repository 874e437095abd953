//! Sends and answers in an order that does not depend on a layer.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tidegate::{Answer, Cause, Change, Controller, Outcome, Sample, Units};

use crate::support::now;

/// How long it goes on.
const LENGTH: Duration = Duration::from_secs(20);

/// While nobody is served.
const OUTAGE: std::ops::Range<Duration> = Duration::from_secs(8)..Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Send,
    /// To the request that was sent as the nth, with that status.
    Answer(u64, u16),
}

/// What a law decided: when, from which limit to which, and why.
pub(crate) type Decision = (Duration, f64, f64, String);

/// What happened to a client that a law held, and what the law decided.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub(crate) events: Vec<(Duration, Event)>,
    pub(crate) decisions: Vec<Decision>,
}

pub(crate) fn decision(at: Duration, change: &Change) -> Decision {
    (
        at,
        change.from.limit,
        change.to.limit,
        change.reason.to_string(),
    )
}

pub(crate) fn by_status(answer: Answer<'_, u16>) -> Outcome {
    match answer {
        Ok(200) => Outcome::Success,
        _ => Outcome::Overload(Cause::Unavailable),
    }
}

/// The client and its upstream while a tape is recorded.
struct Recording<L> {
    law: L,
    start: Instant,
    at: Duration,
    in_flight: usize,
    /// By when they are answered; how, and with how many in flight they were sent.
    sent: HashMap<u64, (Duration, u16, usize)>,
    due: BinaryHeap<Reverse<(Duration, u64)>>,
    random: SmallRng,
    tape: Tape,
    count: u64,
}

impl Tape {
    /// 16 workers and a queue of 20, an outage, and always another request.
    pub(crate) fn record(law: impl Controller) -> Self {
        let mut recording = Recording {
            law,
            start: now().into_std(),
            at: Duration::ZERO,
            in_flight: 0,
            sent: HashMap::new(),
            due: BinaryHeap::new(),
            random: SmallRng::seed_from_u64(3),
            tape: Self::default(),
            count: 0,
        };
        while recording.at < LENGTH {
            recording.fill();
            recording.answer();
        }
        recording.tape
    }
}

impl<L: Controller> Recording<L> {
    fn now(&self) -> Instant {
        self.start + self.at
    }

    /// Sends as many as the law lets go.
    fn fill(&mut self) {
        loop {
            let setting = self.law.setting();
            assert_eq!(setting.pace, None);
            if self.in_flight >= (setting.limit as usize).max(1) {
                return;
            }
            if let Some(pause) = setting.pause_until.filter(|until| *until > self.now()) {
                if self.in_flight > 0 {
                    return;
                }
                self.at = pause - self.start;
            }
            self.send();
        }
    }

    fn send(&mut self) {
        self.in_flight += 1;
        self.law.on_start(self.now(), self.in_flight);
        let crowding = (self.in_flight as f64 / 16.0).max(1.0);
        let (takes, status) = if OUTAGE.contains(&self.at) || self.in_flight > 36 {
            (2.ms(), 503)
        } else {
            let takes = -20e-3 * self.random.random_range(1e-9..1.0_f64).ln() * crowding;
            (1.ms() + Duration::from_secs_f64(takes), 200)
        };
        let nth = self.count;
        self.count += 1;
        self.sent.insert(nth, (self.at, status, self.in_flight));
        self.due.push(Reverse((self.at + takes, nth)));
        self.tape.events.push((self.at, Event::Send));
    }

    /// The next one has its answer.
    fn answer(&mut self) {
        let Some(Reverse((due, nth))) = self.due.pop() else {
            return;
        };
        self.at = due.max(self.at);
        let (sent, status, in_flight_at_start) = self.sent[&nth];
        let sample = Sample {
            started: self.start + sent,
            latency: Some(self.at.saturating_sub(sent)),
            in_flight_at_start,
            in_flight: self.in_flight,
            outcome: by_status(Ok(&status)),
            retry_after: None,
        };
        if let Some(change) = self.law.on_sample(self.now(), &sample) {
            self.tape.decisions.push(decision(self.at, &change));
        }
        self.in_flight -= 1;
        self.tape.events.push((self.at, Event::Answer(nth, status)));
    }
}
