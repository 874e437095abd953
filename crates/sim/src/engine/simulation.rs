use std::time::Duration;

use tidegate_core::{Cause, Outcome, Sample};

use crate::clock::Clock;
use crate::engine::admission::Gate;
use crate::engine::agenda::Event;
use crate::engine::backlog::Backlog;
use crate::engine::client::Client;
use crate::engine::jobs::{Answer, Job, Jobs};
use crate::engine::pilot::{Conditions, Pilot, Seat};
use crate::engine::recorder::Recorder;
use crate::engine::world::World;
use crate::record::Record;
use crate::scenario::{Load, Sampler, Scenario};
use crate::server::{Offer, Station};
use crate::status::outcome;

/// More events than this, most of them refusals: the run is cut.
const SPIN: u64 = 6_000_000;

/// What a background failure takes, before the way back.
const BACKGROUND: Sampler = Sampler::Exponential { mean: 2e6 };

/// One run.
#[derive(Debug)]
pub(super) struct Simulation<'a> {
    scenario: &'a Scenario,
    pilot: &'a Pilot<'a>,
    seed: u64,
    clock: Clock,
    world: World,
    station: Station,
    jobs: Jobs,
    clients: Vec<Client>,
    backlog: Backlog,
    recorder: Recorder,
    conditions: Conditions,
    half_rtt: u64,
    jitter: Option<Sampler>,
    /// The last request of a batch has succeeded.
    done: bool,
}

impl<'a> Simulation<'a> {
    pub(super) fn new(scenario: &'a Scenario, seed: u64, pilot: &'a Pilot<'a>) -> Self {
        let mut world = World::new(seed);
        let clients = scenario.clients.len();
        for (index, step) in scenario.steps.iter().enumerate() {
            let at = step.at.as_nanos() as u64;
            world.agenda.push(at, Event::Step(index as u32));
        }
        for (index, join) in scenario.clients.iter().enumerate() {
            let at = join.as_nanos() as u64;
            world.agenda.push(at, Event::Join(index as u32));
        }
        let backlog = Backlog::new(&scenario.load, clients, &mut world);
        Self {
            scenario,
            pilot,
            seed,
            clock: Clock::new(),
            world,
            station: Station::new(&scenario.server),
            jobs: Jobs::default(),
            clients: (0..clients).map(|_| Client::new()).collect(),
            backlog,
            recorder: Recorder::new(scenario.duration.as_nanos() as u64, clients),
            conditions: Conditions {
                capacity: 1.0,
                rtt: scenario.rtt,
                clients: 0,
            },
            half_rtt: scenario.rtt.as_nanos() as u64 / 2,
            jitter: scenario.rtt_jitter.as_ref().map(Sampler::from),
            done: false,
        }
    }

    pub(super) fn run(mut self) -> Record {
        let end = self.scenario.duration.as_nanos() as u64;
        let mut cut = false;
        while let Some((at, event)) = self.world.agenda.pop_before(end) {
            self.world.now = at;
            self.recorder.advance(at);
            self.handle(event);
            cut = self.recorder.spins(SPIN);
            if self.done || cut {
                break;
            }
        }
        let now = if self.done || cut {
            self.world.now
        } else {
            end
        };
        let unserved = self.backlog.unserved(now);
        self.recorder.finish(now, cut, unserved)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(job) => self.arrive(job),
            Event::Done(job) => {
                self.station.done(&mut self.world);
                self.served(job);
            }
            Event::Progress { turn } => {
                if let Some(job) = self.station.progress(turn, &mut self.world) {
                    self.served(job);
                }
            }
            Event::Answer(job) => self.answer(job),
            Event::Timeout { job, generation } => self.time_out(job, generation),
            Event::Wake { client, turn } => {
                if self.clients[client as usize].wake(turn) {
                    self.send(client as usize);
                }
            }
            Event::Join(client) => self.join(client as usize),
            Event::Step(step) => self.step(step as usize),
            Event::Demand => self.demand(),
            Event::Dump(dump) => self.dump(dump as usize),
        }
    }

    /// Sends what the client's door lets through.
    fn send(&mut self, client: usize) {
        while !self.backlog.is_empty(client) && self.clients[client].joined {
            match self.clients[client].check(self.world.now) {
                Gate::Open => {}
                Gate::Full => return,
                Gate::At(at) => {
                    if let Some(turn) = self.clients[client].plan_wake(at) {
                        let client = client as u32;
                        self.world.agenda.push(at, Event::Wake { client, turn });
                    }
                    return;
                }
            }
            let Some(born) = self.backlog.take(client, self.world.now) else {
                return;
            };
            self.start(client, born);
        }
    }

    fn start(&mut self, client: usize, born: u64) {
        let now = self.world.now;
        self.moved(client, |client, clock| client.start(now, clock));
        let job = self.jobs.insert(Job {
            client: client as u32,
            in_flight_at_start: self.clients[client].in_flight as u32,
            started: now,
            born,
            answer: Answer::Served,
            abandoned: false,
            dropped: false,
            generation: 0,
        });
        self.world.after(self.half_rtt, Event::Arrive(job));
        if let Some(timeout) = self.scenario.timeout {
            let generation = self.jobs.get(job).generation;
            let timeout = timeout.as_nanos() as u64;
            self.world
                .after(timeout, Event::Timeout { job, generation });
        }
    }

    /// Does something with a client, and keeps the sums over all of them.
    fn moved(&mut self, client: usize, what: impl FnOnce(&mut Client, &Clock)) {
        let client = &mut self.clients[client];
        self.recorder.limit -= client.admission.limit();
        self.recorder.in_flight -= client.in_flight;
        what(client, &self.clock);
        self.recorder.limit += client.admission.limit();
        self.recorder.in_flight += client.in_flight;
    }

    fn arrive(&mut self, job: u32) {
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

    fn served(&mut self, job: u32) {
        self.reply(job, Answer::Served, 0);
    }

    /// The server answers in `wait`; nobody waits for the answer to an abandoned request.
    fn reply(&mut self, job: u32, answer: Answer, wait: u64) {
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

    fn answer(&mut self, job: u32) {
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

    fn time_out(&mut self, job: u32, generation: u32) {
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

    fn send_all(&mut self) {
        for client in 0..self.clients.len() {
            self.send(client);
        }
    }

    fn join(&mut self, client: usize) {
        let now = self.world.now;
        self.conditions.clients += 1;
        self.clients[client].joined = true;
        match self.pilot {
            Pilot::Laws(law) => {
                let law = law(&Seat {
                    client,
                    seed: self.seed,
                    now: self.clock.instant(now),
                    phase: Duration::from_nanos(now),
                });
                self.moved(client, |client, clock| client.fly(law, now, clock));
                self.send(client);
            }
            Pilot::Plan(_) => self.replan(),
        }
    }

    /// Somebody who can see everything sees something new.
    fn replan(&mut self) {
        let Pilot::Plan(plan) = self.pilot else {
            return;
        };
        let now = self.world.now;
        let setting = plan.setting(&self.conditions);
        for client in 0..self.clients.len() {
            if !self.clients[client].joined {
                continue;
            }
            self.moved(client, |client, clock| match &setting {
                Some(setting) => {
                    client.admission.pause(0);
                    client.admission.adopt(setting, now, clock);
                }
                None => client.admission.pause(u64::MAX),
            });
        }
        self.send_all();
    }

    fn step(&mut self, step: usize) {
        let step = self.scenario.steps[step];
        if let Some(rtt) = step.rtt {
            self.conditions.rtt = rtt;
            self.half_rtt = rtt.as_nanos() as u64 / 2;
        }
        if let Some(capacity) = step.capacity {
            self.conditions.capacity = capacity;
            let refused = self.station.scale(capacity, step.silent, &mut self.world);
            for job in refused {
                self.reply(job, Answer::Refused, 0);
            }
        }
        self.replan();
    }

    fn demand(&mut self) {
        self.come_up(1);
        if let Backlog::Open(arrivals) = &self.backlog {
            arrivals.plan(&mut self.world);
        }
    }

    fn dump(&mut self, dump: usize) {
        if let Load::Open { dumps, .. } = &self.scenario.load {
            self.come_up(dumps[dump].requests);
        }
    }

    fn come_up(&mut self, count: u64) {
        for _ in 0..count {
            let Backlog::Open(arrivals) = &mut self.backlog else {
                return;
            };
            let clients = &self.clients;
            let client = arrivals.arrive(self.world.now, |client| clients[client].joined);
            self.send(client);
        }
    }
}
