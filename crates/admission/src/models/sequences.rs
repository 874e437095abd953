//! Random sequences of everything that can be done to an admission, against the reference.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::{Start, per};

use super::reference::{LONGEST, Pace, Reference, State};
use crate::admission::{Admission, Entered, Entry, Request};
use crate::effects::Effects;
use crate::leases::Lease;
use crate::primitives::Std;
use crate::refusal::Refusal;
use crate::waiter::{self, Ticket};

/// The step of the clock: about a millisecond, and a power of two like the periods.
const STEP: u64 = 1 << 20;
/// After how long one that was let in and does not come is passed over, at the earliest and latest.
const PATIENCE: std::ops::RangeInclusive<u64> = 100_000_000..=150_000_000;

#[derive(Clone, Copy, Debug)]
enum Op {
    Enter { cost: u32 },
    Try { cost: u32 },
    Poll(usize),
    Cancel(usize),
    Leave(usize),
    GiveBack(usize),
    Lease(usize, u64),
    Limit(usize),
    Pace(Option<(u32, u32, Start)>),
    Pause(u64),
    EndPause,
    MaxQueue(usize),
    MaxWait(Option<u64>),
    Wait(u64),
    Close,
}

/// What became of one that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Entered(u32),
    Waits,
    Refused(Refusal),
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0..16_usize;
    let pace = || {
        let start = prop_oneof![Just(Start::Full), Just(Start::One), Just(Start::Empty)];
        proptest::option::weighted(0.85, (20..=LONGEST, 1..=4_u32, start))
    };
    prop_oneof![
        20 => (0..=6_u32).prop_map(|cost| Op::Enter { cost }),
        4 => (0..=6_u32).prop_map(|cost| Op::Try { cost }),
        12 => which.clone().prop_map(Op::Poll),
        6 => which.clone().prop_map(Op::Cancel),
        10 => which.clone().prop_map(Op::Leave),
        3 => which.clone().prop_map(Op::GiveBack),
        2 => (which, 0..200_u64).prop_map(|(which, steps)| Op::Lease(which, steps)),
        4 => (0..=5_usize).prop_map(Op::Limit),
        4 => pace().prop_map(Op::Pace),
        2 => (0..100_u64).prop_map(Op::Pause),
        1 => Just(Op::EndPause),
        1 => prop_oneof![0..4_usize, Just(usize::MAX)].prop_map(Op::MaxQueue),
        2 => proptest::option::of(0..150_u64).prop_map(Op::MaxWait),
        16 => (1..120_u64).prop_map(Op::Wait),
        1 => Just(Op::Close),
    ]
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

struct Waiting {
    id: usize,
    ticket: Ticket<Std>,
    woken: Arc<Woken>,
    /// How often it had been woken when it was polled last.
    seen: usize,
    /// When it was let in.
    granted: Option<u64>,
}

struct Permit {
    id: usize,
    tokens: u32,
    lease: Option<(u64, Arc<Lease<Std>>)>,
}

struct World {
    admission: Admission<Std>,
    reference: Reference,
    now: Cell<u64>,
    alarm: Option<u64>,
    waiting: Vec<Waiting>,
    permits: Vec<Permit>,
    next_id: usize,
    /// Since when somebody has been waiting all the time.
    crowded: Option<u64>,
}

impl World {
    fn new(limit: usize) -> Self {
        Self::of(Admission::new(limit, 1), limit)
    }

    fn without_limit() -> Self {
        Self::of(Admission::uncounted(1), usize::MAX)
    }

    /// With all paces under the lock, and a second one that never binds.
    fn metered(limit: usize) -> Self {
        let admission = Admission::new(limit, 1);
        let never = per(1.0, Duration::from_nanos(1)).burst(u32::MAX);
        let (number, effects) = admission.add_pace(never, &|| 0);
        assert_eq!(number, Some(1));
        effects.wake_all();
        let mut world = Self::of(admission, limit);
        world.reference.exact = true;
        world
    }

    fn of(admission: Admission<Std>, limit: usize) -> Self {
        Self {
            admission,
            reference: Reference::new(limit),
            now: Cell::new(0),
            alarm: None,
            waiting: Vec::new(),
            permits: Vec::new(),
            next_id: 0,
            crowded: None,
        }
    }

    fn apply(&mut self, effects: Effects) {
        if effects.arm.is_some() {
            self.alarm = self.admission.with_queue(|queue| queue.times.armed());
        }
        effects.wake_all();
    }

    fn run(&mut self, op: Op) {
        let now = &|| self.now.get();
        let admission = &self.admission;
        match op {
            Op::Enter { cost } => return self.enter(cost, true),
            Op::Try { cost } => return self.enter(cost, false),
            Op::Poll(which) => {
                if !self.waiting.is_empty() {
                    let which = which % self.waiting.len();
                    self.poll(which);
                }
            }
            Op::Cancel(which) => {
                if !self.waiting.is_empty() {
                    let one = self.waiting.remove(which % self.waiting.len());
                    let effects = admission.cancel(&one.ticket, now);
                    self.apply(effects);
                    self.reference.cancel(one.id);
                }
            }
            Op::Leave(which) => self.leave(which, false),
            Op::GiveBack(which) => self.leave(which, true),
            Op::Lease(which, steps) => {
                let unleased: Vec<_> = (0..self.permits.len())
                    .filter(|&one| self.permits[one].lease.is_none())
                    .collect();
                if !unleased.is_empty() {
                    let until = self.now.get() + steps * STEP;
                    let (lease, effects) = admission.lease(until, now);
                    let permit = &mut self.permits[unleased[which % unleased.len()]];
                    permit.lease = Some((until, lease));
                    self.reference.lease(permit.id, until);
                    self.apply(effects);
                }
            }
            Op::Limit(limit) => {
                let effects = admission.set_limit(limit, now);
                self.apply(effects);
                if self.admission.word().counts() {
                    self.reference.set_limit(limit);
                }
            }
            Op::Pace(pace) => self.set_pace(pace),
            Op::Pause(steps) => {
                let until = self.now.get() + steps * STEP;
                let effects = admission.pause_until(until, now);
                self.apply(effects);
                self.reference.pause(until);
            }
            Op::EndPause => {
                let effects = admission.end_pause(now);
                self.apply(effects);
                self.reference.end_pause();
            }
            Op::MaxQueue(max_queue) => {
                admission.with_queue(|queue| queue.max_queue = max_queue);
                self.reference.max_queue = max_queue;
            }
            Op::MaxWait(steps) => {
                let max_wait = steps.map(|steps| steps * STEP);
                admission.with_queue(|queue| queue.max_wait = max_wait.unwrap_or(u64::MAX));
                self.reference.max_wait = max_wait;
            }
            Op::Wait(steps) => {
                let until = self.now.get() + steps * STEP;
                self.pass_time(until);
            }
            Op::Close => {
                let effects = admission.close(now);
                self.apply(effects);
                self.reference.close();
            }
        }
        self.fire_what_is_due();
        self.reference.moment();
    }

    fn enter(&mut self, cost: u32, may_wait: bool) {
        let now = &|| self.now.get();
        let id = self.next_id;
        self.next_id += 1;
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut ticket = None;
        let outcome = if let Some(entry) = self.admission.try_enter(cost, now) {
            Outcome::Entered(entry.tokens)
        } else {
            let request = Request {
                cost,
                costs: None,
                waker: may_wait.then_some(&waker),
                thread: false,
                until: u64::MAX,
            };
            let (entered, effects) = self.admission.enter(request, now);
            self.apply(effects);
            match entered {
                Entered::Yes(entry) => Outcome::Entered(entry.tokens),
                Entered::No(refusal) => Outcome::Refused(refusal),
                Entered::Waits(place) => {
                    ticket = Some(place);
                    Outcome::Waits
                }
            }
        };
        assert_eq!(outcome, self.reference.enter(id, cost, may_wait), "{id}");
        self.waiting.extend(ticket.map(|ticket| Waiting {
            id,
            ticket,
            woken,
            seen: 0,
            granted: None,
        }));
        self.entered(id, outcome);
        self.fire_what_is_due();
        self.reference.moment();
    }

    fn entered(&mut self, id: usize, outcome: Outcome) {
        if let Outcome::Entered(tokens) = outcome {
            self.permits.push(Permit {
                id,
                tokens,
                lease: None,
            });
        }
    }

    fn poll(&mut self, which: usize) {
        let one = &mut self.waiting[which];
        let waker = Waker::from(Arc::clone(&one.woken));
        let (poll, effects) = self.admission.poll(&one.ticket, &waker, &|| self.now.get());
        let outcome = match poll {
            Poll::Ready(Ok(entry)) => Outcome::Entered(entry.tokens),
            Poll::Ready(Err(refusal)) => Outcome::Refused(refusal),
            Poll::Pending => Outcome::Waits,
        };
        let id = one.id;
        assert_eq!(outcome, self.reference.poll(id), "{id}");
        self.apply(effects);
        if outcome == Outcome::Waits {
            let one = &mut self.waiting[which];
            one.seen = one.woken.0.load(SeqCst);
            one.granted = None;
        } else {
            self.waiting.remove(which);
        }
        self.entered(id, outcome);
    }

    fn leave(&mut self, which: usize, give_back: bool) {
        if self.permits.is_empty() {
            return;
        }
        let permit = self.permits.remove(which % self.permits.len());
        if permit.lease.is_none_or(|(_, lease)| lease.end())
            && let Some(spare) = self.admission.leave()
        {
            let effects = self.admission.leave_slow(spare, &|| self.now.get());
            self.apply(effects);
        }
        self.reference.leave(permit.id);
        if give_back {
            let entry = Entry::charged(permit.tokens);
            let effects = self.admission.give_back(entry, &|| self.now.get());
            self.apply(effects);
            self.reference.give_back(permit.tokens);
        }
    }

    fn set_pace(&mut self, pace: Option<(u32, u32, Start)>) {
        let shipped = pace.map(|(period, burst, start)| {
            per(1.0, Duration::from_nanos(1 << period))
                .burst(burst)
                .start(start)
        });
        let effects = self.admission.set_pace(shipped, &|| self.now.get());
        self.apply(effects);
        self.reference.set_pace(pace.map(|(period, burst, start)| {
            let level = match start {
                Start::Full => burst,
                Start::One => 1,
                Start::Empty => 0,
            };
            (Pace { period, burst }, level)
        }));
    }

    fn pass_time(&mut self, until: u64) {
        while let Some(alarm) = self.alarm.filter(|&alarm| alarm <= until) {
            self.reference.pass_time(alarm.max(self.now.get()));
            self.now.set(alarm.max(self.now.get()));
            self.fire_what_is_due();
            self.reference.moment();
            self.check();
        }
        self.reference.pass_time(until);
        self.now.set(until);
    }

    /// Timers fire on time; the reference learns who was passed over.
    fn fire_what_is_due(&mut self) {
        while self.alarm.is_some_and(|alarm| alarm <= self.now.get()) {
            self.alarm = None;
            let effects = self.admission.on_timer(&|| self.now.get());
            self.apply(effects);
            let (mut late, mut behind) = (0, 0);
            for one in &self.waiting {
                if one.ticket.state() != waiter::State::PassedOver {
                    continue;
                }
                match self.reference.state(one.id) {
                    Some(State::Granted { .. }) => {
                        let held = self.now.get() - one.granted.expect("it was let in before");
                        assert!(held >= *PATIENCE.start(), "{} after {held}", one.id);
                        late += 1;
                    }
                    Some(State::Waiting) => behind += 1,
                    _ => continue,
                }
                self.reference.pass_over(one.id);
            }
            assert!(
                late > 0 || behind == 0,
                "all are called only where one did not come"
            );
        }
    }

    fn check(&mut self) {
        let now = self.now.get();
        assert_eq!(now, self.reference.now);
        let (waiting, armed) = self
            .admission
            .with_queue(|queue| (queue.ring.waiting(), queue.times.armed()));
        let word = self.admission.word();
        let run_out = self
            .permits
            .iter()
            .filter_map(|permit| permit.lease.as_ref());
        let run_out = run_out.filter(|(until, lease)| *until <= now && !lease.has_ended());
        assert_eq!(waiting, self.reference.waiting(), "waiting");
        if word.counts() {
            let in_flight = word.in_flight() - run_out.count();
            assert_eq!(in_flight, self.reference.in_flight(), "in flight");
        } else {
            assert_eq!(word.in_flight(), 0, "nobody is counted");
        }
        assert_eq!(word.limit(), self.reference.limit, "limit");
        let bills = self.admission.with_queue(|queue| {
            let bills = queue.ring.bills.as_ref();
            bills.map(|bills| bills.len())
        });
        assert!(
            bills.is_none_or(|bills| bills <= self.waiting.len()),
            "bills"
        );
        assert_eq!(self.alarm, armed, "whoever armed it was told");
        if let Some(full) = self.reference.full() {
            let burst = self.admission.with_queue(|queue| queue.pace).unwrap();
            let due = self.admission.due(u64::from(burst.bucket()));
            assert_eq!(due.max(now), full, "the bucket is full at");
        }
        self.crowded = self.crowded.or(Some(now)).filter(|_| waiting > 0);
        for one in &mut self.waiting {
            let state = self.reference.state(one.id).expect("it waits");
            assert_eq!(
                same_state(one.ticket.state()),
                same_name(state),
                "{}",
                one.id
            );
            let woken = one.woken.0.load(SeqCst) > one.seen;
            match state {
                State::Waiting => assert!(!woken, "{} was woken for nothing", one.id),
                _ => assert!(woken, "{} was not woken", one.id),
            }
            if let State::Granted { .. } = state {
                let since = *one.granted.get_or_insert(now);
                if let Some(crowded) = self.crowded {
                    let held = now - since.max(crowded);
                    assert!(held <= *PATIENCE.end(), "{} for {held}", one.id);
                }
            }
        }
    }

    /// Everybody leaves: exactly as many as the limit says can enter.
    fn end(mut self) {
        while !self.waiting.is_empty() {
            self.run(Op::Cancel(0));
            self.check();
        }
        while !self.permits.is_empty() {
            self.run(Op::Leave(0));
            self.check();
        }
        assert_eq!(self.admission.word().in_flight(), 0);
        if self.admission.with_queue(|queue| queue.closed) {
            return;
        }
        self.run(Op::EndPause);
        self.run(Op::Pace(None));
        if self.admission.with_queue(|queue| queue.meters.is_some())
            || !self.admission.word().counts()
        {
            return;
        }
        let limit = self.admission.word().limit();
        for _ in 0..limit {
            assert!(self.admission.try_enter(1, || self.now.get()).is_some());
        }
        assert!(self.admission.try_enter(1, || self.now.get()).is_none());
    }
}

fn same_state(state: waiter::State) -> &'static str {
    match state {
        waiter::State::Waiting => "waiting",
        waiter::State::Granted => "granted",
        waiter::State::PassedOver => "passed over",
        waiter::State::Expired | waiter::State::Paused | waiter::State::Closed => "refused",
        waiter::State::Taken | waiter::State::Gone => "gone",
    }
}

fn same_name(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Granted { .. } => "granted",
        State::PassedOver => "passed over",
        State::Refused(_) => "refused",
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_sequence_lets_in_the_same_at_the_same_moment_as_the_reference(
        limit in 1..4_usize,
        ops in proptest::collection::vec(op(), 1..150),
    ) {
        let mut world = World::new(limit);
        for op in ops {
            world.run(op);
            world.check();
        }
        world.end();
    }

    #[test]
    fn with_several_paces_every_sequence_lets_in_the_same_at_the_same_moment_as_the_reference(
        limit in 1..4_usize,
        ops in proptest::collection::vec(op(), 1..150),
    ) {
        let mut world = World::metered(limit);
        for op in ops {
            world.run(op);
            world.check();
        }
        world.end();
    }

    #[test]
    fn without_a_limit_every_sequence_lets_in_the_same_at_the_same_moment_as_the_reference(
        ops in proptest::collection::vec(op(), 1..150),
    ) {
        let mut world = World::without_limit();
        for op in ops {
            world.run(op);
            world.check();
        }
        world.end();
    }
}
