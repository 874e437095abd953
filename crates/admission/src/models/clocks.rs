//! A clock that steps back, jumps by years or stands still, and timers that are late.

use std::cell::Cell;
use std::task::{Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::per;

use crate::admission::{Admission, Entered, Request};
use crate::effects::Effects;
use crate::primitives::Std;
use crate::waiter::Ticket;

const MILLISECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600_000 * MILLISECOND;
const YEAR: u64 = 8_760 * HOUR;
/// A waiter whose timer was late counts as having entered when its tokens were there, at most so
/// long ago.
const LATE: u64 = 2 * MILLISECOND;

#[derive(Clone, Debug)]
enum Step {
    Enter(u32),
    GiveUp(usize),
    Leave,
    Limit(usize),
    Forward(u64),
    Back(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let forward = prop_oneof![
        8 => 0..300 * MILLISECOND,
        1 => Just(1),
        1 => Just(10 * YEAR),
    ];
    let back = prop_oneof![Just(1), Just(50 * MILLISECOND), Just(8 * HOUR)];
    prop_oneof![
        10 => (0..=5_u32).prop_map(Step::Enter),
        2 => (0..8_usize).prop_map(Step::GiveUp),
        6 => Just(Step::Leave),
        1 => (1..4_usize).prop_map(Step::Limit),
        10 => forward.prop_map(Step::Forward),
        3 => back.prop_map(Step::Back),
    ]
}

struct World {
    admission: Admission<Std>,
    /// What the clock shows.
    now: Cell<u64>,
    /// How much time has passed.
    passed: u64,
    alarm: Option<u64>,
    waiting: Vec<Ticket<Std>>,
    inside: usize,
    /// After how much time how many tokens were taken.
    sends: Vec<(u64, u32)>,
}

impl World {
    fn apply(&mut self, effects: Effects) {
        if effects.arm.is_some() {
            self.alarm = self.admission.with_queue(|queue| queue.times.armed());
        }
        effects.wake_all();
    }

    fn forward(&mut self, by: u64) {
        self.now.set(self.now.get() + by);
        self.passed += by;
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Enter(cost) => self.enter(cost),
            Step::GiveUp(which) => {
                if !self.waiting.is_empty() {
                    let ticket = self.waiting.remove(which % self.waiting.len());
                    let effects = self.admission.cancel(&ticket, &|| self.now.get());
                    self.apply(effects);
                }
            }
            Step::Leave => self.leave(),
            Step::Limit(limit) => {
                let effects = self.admission.set_limit(limit, &|| self.now.get());
                self.apply(effects);
            }
            // A bucket is good for 36 years.
            Step::Forward(by) => self.forward(by.min(35 * YEAR - self.now.get())),
            Step::Back(by) => self.now.set(self.now.get().saturating_sub(by)),
        }
        self.fire_and_poll();
    }

    fn enter(&mut self, cost: u32) {
        if let Some(entry) = self.admission.try_enter(cost, || self.now.get()) {
            return self.entered(entry.tokens);
        }
        let request = Request {
            cost,
            costs: None,
            waker: Some(Waker::noop()),
            thread: false,
            until: u64::MAX,
        };
        let (entered, effects) = self.admission.enter(request, &|| self.now.get());
        self.apply(effects);
        match entered {
            Entered::Yes(entry) => self.entered(entry.tokens),
            Entered::Waits(ticket) => self.waiting.push(ticket),
            Entered::No(refusal) => panic!("{refusal:?}"),
        }
    }

    fn entered(&mut self, tokens: u32) {
        self.inside += 1;
        self.sends.push((self.passed, tokens));
    }

    fn leave(&mut self) {
        if self.inside > 0 {
            self.inside -= 1;
            if let Some(spare) = self.admission.leave() {
                let effects = self.admission.leave_slow(spare, &|| self.now.get());
                self.apply(effects);
            }
        }
    }

    /// A late timer fires now, and whoever was let in comes at once.
    fn fire_and_poll(&mut self) {
        if self.alarm.is_some_and(|alarm| alarm <= self.now.get()) {
            self.alarm = None;
            let effects = self.admission.on_timer(&|| self.now.get());
            self.apply(effects);
        }
        for ticket in std::mem::take(&mut self.waiting) {
            let poll = self
                .admission
                .poll(&ticket, Waker::noop(), &|| self.now.get());
            self.apply(poll.1);
            match poll.0 {
                Poll::Ready(Ok(entry)) => self.entered(entry.tokens),
                Poll::Ready(Err(refusal)) => panic!("{refusal:?}"),
                Poll::Pending => self.waiting.push(ticket),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_clock_that_steps_back_gives_no_extra_token_and_freezes_nobody(
        limit in 1..4_usize,
        period in prop_oneof![Just(100 * MILLISECOND), Just(333_333), Just(7 * MILLISECOND)],
        burst in 1..4_u32,
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let mut world = World {
            admission: Admission::new(limit, 1),
            now: Cell::new(9 * HOUR),
            passed: 0,
            alarm: None,
            waiting: Vec::new(),
            inside: 0,
            sends: Vec::new(),
        };
        let pace = per(1.0, Duration::from_nanos(period)).burst(burst);
        let _nobody_waits = world.admission.set_pace(Some(pace), &|| world.now.get());
        for step in &steps {
            world.run(step);
        }

        // Everybody gets in.
        let mut turns = 10 * steps.len();
        while !world.waiting.is_empty() {
            turns -= 1;
            prop_assert!(turns > 0, "{} wait for ever", world.waiting.len());
            if world.inside > 0 {
                world.leave();
            } else if let Some(alarm) = world.alarm {
                world.forward(alarm.saturating_sub(world.now.get()));
            }
            world.fire_and_poll();
        }

        // A cost above the burst leaves a debt: it counts as the burst, and the rest as time.
        for first in 0..world.sends.len() {
            let (from, mut tokens) = (world.sends[first].0, 0);
            for &(at, cost) in &world.sends[first..] {
                let before = tokens;
                tokens += u64::from(cost);
                let most = u64::from(burst) + (at - from + LATE).div_ceil(period);
                prop_assert!(before + u64::from(cost.min(burst)) <= most, "{:?}", world.sends);
            }
        }
    }
}
