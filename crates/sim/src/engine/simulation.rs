use crate::clock::Clock;
use crate::engine::admission::Gate;
use crate::engine::agenda::Event;
use crate::engine::backlog::Backlog;
use crate::engine::client::Client;
use crate::engine::jobs::{Answer, Job, Jobs};
use crate::engine::pilot::{Conditions, Pilot};
use crate::engine::recorder::Recorder;
use crate::engine::world::World;
use crate::record::Record;
use crate::scenario::{Sampler, Scenario};
use crate::server::Station;

/// More events than this, most of them refusals: the run is cut.
const SPIN: u64 = 6_000_000;

/// One run.
#[derive(Debug)]
pub(super) struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) pilot: &'a Pilot<'a>,
    pub(super) seed: u64,
    pub(super) clock: Clock,
    pub(super) world: World,
    pub(super) station: Station,
    pub(super) jobs: Jobs,
    pub(super) clients: Vec<Client>,
    pub(super) backlog: Backlog,
    pub(super) recorder: Recorder,
    pub(super) conditions: Conditions,
    pub(super) half_rtt: u64,
    pub(super) jitter: Option<Sampler>,
    /// The last request of a batch has succeeded.
    pub(super) done: bool,
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
    pub(super) fn send(&mut self, client: usize) {
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
    pub(super) fn moved(&mut self, client: usize, what: impl FnOnce(&mut Client, &Clock)) {
        let client = &mut self.clients[client];
        self.recorder.limit -= client.admission.limit();
        self.recorder.in_flight -= client.in_flight;
        what(client, &self.clock);
        self.recorder.limit += client.admission.limit();
        self.recorder.in_flight += client.in_flight;
    }
}
