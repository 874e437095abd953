//! What changes while a run goes on: clients, steps, and what an open load wants.

use std::time::Duration;

use crate::engine::backlog::Backlog;
use crate::engine::jobs::Answer;
use crate::engine::pilot::{Pilot, Seat};
use crate::engine::simulation::Simulation;
use crate::scenario::Load;

impl Simulation<'_> {
    pub(super) fn join(&mut self, client: usize) {
        let now = self.world.now;
        let there = |&&at: &&Duration| at.as_nanos() <= u128::from(now);
        self.conditions.clients = self.scenario.clients.iter().filter(there).count();
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
        let setting = plan(&self.conditions);
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

    pub(super) fn step(&mut self, step: usize) {
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

    pub(super) fn demand(&mut self) {
        self.come_up(1);
        if let Backlog::Open(arrivals) = &self.backlog {
            arrivals.plan(&mut self.world);
        }
    }

    pub(super) fn dump(&mut self, dump: usize) {
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
