//! Requests on their way to the server and back.

use std::time::Duration;

use tidegate_core::{Cause, Outcome, Sample};

use crate::engine::agenda::Event;
use crate::engine::jobs::{Answer, Job};
use crate::engine::simulation::Simulation;
use crate::scenario::{Load, Sampler};
use crate::server::Offer;
use crate::status::outcome;

/// What a background failure takes, before the way back.
const BACKGROUND: Sampler = Sampler::Exponential { mean: 2e6 };

impl Simulation<'_> {
    /// A request reaches the server.
    pub(super) fn arrive(&mut self, job: u32) {
        if let Some(background) = self.scenario.background
            && self.world.random.unit() < background.share
        {
            let wait = BACKGROUND.draw(&mut self.world.random);
            self.reply(job, Answer::Background, wait);
            return;
        }
        match self.station.offer(job, &mut self.world) {
            Offer::Taken => {}
            Offer::Refused => self.reply(job, Answer::Refused, 0),
            Offer::Dropped if self.jobs.get(job).abandoned => self.jobs.remove(job),
            Offer::Dropped => self.jobs.get_mut(job).dropped = true,
        }
    }

    pub(super) fn served(&mut self, job: u32) {
        self.reply(job, Answer::Served, 0);
    }

    /// The server answers in `wait`; nobody waits for the answer to an abandoned request.
    pub(super) fn reply(&mut self, job: u32, answer: Answer, wait: u64) {
        let entry = self.jobs.get_mut(job);
        if entry.abandoned {
            self.jobs.remove(job);
            return;
        }
        entry.answer = answer;
        let jitter = self
            .jitter
            .map_or(0, |jitter| jitter.draw(&mut self.world.random));
        self.world
            .after(wait + self.half_rtt + jitter, Event::Answer(job));
    }

    pub(super) fn answer(&mut self, job: u32) {
        let Job {
            abandoned, answer, ..
        } = *self.jobs.get(job);
        if !abandoned {
            let server = &self.scenario.server;
            let (outcome, retry_after) = match (answer, self.scenario.background) {
                (Answer::Refused, _) => (outcome(server.reject), server.retry_after),
                (Answer::Background, Some(background)) => (outcome(background.status), None),
                _ => (Outcome::Success, None),
            };
            self.end(job, outcome, retry_after);
        }
        self.jobs.remove(job);
    }

    pub(super) fn time_out(&mut self, job: u32, generation: u32) {
        let entry = *self.jobs.get(job);
        if entry.generation != generation || entry.abandoned {
            return;
        }
        self.jobs.get_mut(job).abandoned = true;
        self.end(job, Outcome::Overload(Cause::TimedOut), None);
        if entry.dropped {
            self.jobs.remove(job);
        }
    }

    /// The client learns the outcome: its permit is free, and used at once.
    fn end(&mut self, job: u32, outcome: Outcome, retry_after: Option<Duration>) {
        let job = *self.jobs.get(job);
        let now = self.world.now;
        let client = job.client as usize;
        let latency = now - job.started;
        let sample = Sample {
            started: self.clock.instant(job.started),
            latency: Some(Duration::from_nanos(latency)),
            in_flight_at_start: job.in_flight_at_start as usize,
            in_flight: self.clients[client].in_flight,
            outcome,
            retry_after,
        };
        self.moved(client, |client, clock| client.end(&sample, now, clock));
        self.recorder
            .count(job.client, outcome, latency, now - job.born);
        if outcome.is_success() {
            self.done = self.backlog.succeed(job.born);
        } else {
            self.backlog.fail(client, job.born);
        }
        self.send(client);
        if matches!(self.scenario.load, Load::Batch { .. }) && !outcome.is_success() {
            self.send_all();
        }
    }

    pub(super) fn send_all(&mut self) {
        for client in 0..self.clients.len() {
            self.send(client);
        }
    }
}
