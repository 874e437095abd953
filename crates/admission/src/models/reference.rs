//! What an admission should do, in the plainest words: one list, one bucket, exact numbers.

use super::sequences::Outcome;
use crate::refusal::{Refusal, Why};

/// A token, in the smallest part that the longest period gains in a nanosecond.
const TOKEN: i128 = 1 << LONGEST;
/// Periods are powers of two, up to this one, so that every number is a whole one.
pub(super) const LONGEST: u32 = 26;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    Granted { tokens: u32 },
    PassedOver,
    Refused(Why),
}

#[derive(Debug)]
struct Waiter {
    id: usize,
    cost: u32,
    deadline: u64,
    state: State,
}

/// A pace: `1 << period` nanoseconds per token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) period: u32,
    pub(super) burst: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    pace: Pace,
    level: i128,
    /// When it was that full.
    at: u64,
}

impl Bucket {
    fn at(self, now: u64) -> Self {
        let gained = i128::from(now - self.at) << (LONGEST - self.pace.period);
        let level = (self.level + gained).min(self.pace.most());
        Self {
            level,
            at: now,
            ..self
        }
    }

    /// When there is enough for `cost`.
    fn due(self, cost: u32) -> u64 {
        let lacks = i128::from(cost.min(self.pace.burst)) * TOKEN - self.level;
        let gain = 1 << (LONGEST - self.pace.period);
        assert_eq!(lacks.rem_euclid(gain), 0, "a whole number of nanoseconds");
        let wait = u64::try_from((lacks / gain).max(0)).unwrap();
        self.at + wait
    }

    fn take(&mut self, cost: u32) {
        self.level -= i128::from(cost) * TOKEN;
    }
}

/// What happened to the bucket.
#[derive(Clone, Copy, Debug)]
enum Event {
    Pace(Pace, Option<u32>),
    Take(usize, u32),
    Give(u32),
}

/// The bucket after all that happened.
fn replay(history: &[(u64, Event)]) -> Option<Bucket> {
    history
        .iter()
        .fold(None, |bucket: Option<Bucket>, &(at, event)| {
            let mut bucket = match (bucket, event) {
                (Some(bucket), _) => bucket.at(at),
                (None, Event::Pace(pace, _)) => Bucket { pace, level: 0, at },
                (None, _) => return None,
            };
            match event {
                Event::Pace(pace, level) => {
                    bucket.pace = pace;
                    bucket.level = level.map_or(bucket.level, |level| i128::from(level) * TOKEN);
                }
                Event::Take(_, cost) => bucket.take(cost),
                Event::Give(cost) => bucket.level += i128::from(cost) * TOKEN,
            }
            bucket.level = bucket.level.min(bucket.pace.most());
            Some(bucket)
        })
}

impl Pace {
    fn most(self) -> i128 {
        i128::from(self.burst) * TOKEN
    }
}

#[derive(Debug)]
pub(super) struct Reference {
    pub(super) now: u64,
    pub(super) limit: usize,
    in_flight: usize,
    bucket: Option<Bucket>,
    /// Since there was no pace, if a place that is not taken up is as if it had never been granted.
    pub(super) exact: bool,
    history: Vec<(u64, Event)>,
    queue: Vec<Waiter>,
    pub(super) pause_until: u64,
    pub(super) max_queue: usize,
    pub(super) max_wait: Option<u64>,
    closed: bool,
    /// By permit: when its place is freed.
    leases: Vec<(u64, usize)>,
    overdue: Vec<usize>,
}

impl Reference {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            now: 0,
            limit,
            in_flight: 0,
            bucket: None,
            exact: false,
            history: Vec::new(),
            queue: Vec::new(),
            pause_until: 0,
            max_queue: usize::MAX,
            max_wait: None,
            closed: false,
            leases: Vec::new(),
            overdue: Vec::new(),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        let waiting = |waiter: &&Waiter| waiter.state == State::Waiting;
        self.queue.iter().filter(waiting).count()
    }

    /// How many are inside, or were let in and have not come; without those whose lease has run out,
    /// whose places are free as soon as somebody needs them.
    pub(super) fn in_flight(&self) -> usize {
        let run_out = self.leases.iter().filter(|&&(until, _)| until <= self.now);
        self.in_flight - run_out.count()
    }

    pub(super) fn state(&self, id: usize) -> Option<State> {
        let waiter = self.queue.iter().find(|waiter| waiter.id == id)?;
        Some(waiter.state)
    }

    /// When a full bucket's worth of tokens is there.
    pub(super) fn full(&self) -> Option<u64> {
        let bucket = self.bucket?.at(self.now);
        Some(bucket.due(bucket.pace.burst))
    }

    pub(super) fn enter(&mut self, id: usize, cost: u32, may_wait: bool) -> Outcome {
        if self.closed {
            return Outcome::Refused(Why::Closed.into());
        }
        let deadline = self.max_wait.map_or(u64::MAX, |wait| self.now + wait);
        self.queue.push(Waiter {
            id,
            cost,
            deadline,
            state: State::Waiting,
        });
        self.let_in();
        if let Some(State::Granted { tokens }) = self.state(id) {
            self.forget(id);
            return Outcome::Entered(tokens);
        }
        let turn = self.turn();
        let why = if !may_wait {
            Why::NoRoom
        } else if self.waiting() > self.max_queue {
            Why::QueueFull
        } else if turn > deadline || deadline == self.now {
            Why::WaitTooLong
        } else {
            return Outcome::Waits;
        };
        self.forget(id);
        let wait = (turn > self.now).then(|| turn - self.now);
        Outcome::Refused(Refusal { why, wait })
    }

    /// When the last in the queue can enter, if there is always a place.
    fn turn(&self) -> u64 {
        let mut turn = self.now.max(self.pause_until);
        let Some(mut bucket) = self.bucket else {
            return turn;
        };
        for waiter in &self.queue {
            if waiter.state == State::Waiting {
                bucket = bucket.at(turn);
                turn = bucket.due(waiter.cost).max(turn);
                bucket = bucket.at(turn);
                bucket.take(waiter.cost);
            }
        }
        turn
    }

    pub(super) fn poll(&mut self, id: usize) -> Outcome {
        if self.state(id) == Some(State::PassedOver) {
            let closed = self.closed;
            let waiter = self.queue.iter_mut().find(|waiter| waiter.id == id);
            waiter.unwrap().state = if closed {
                State::Refused(Why::Closed)
            } else {
                State::Waiting
            };
            self.let_in();
        }
        match self.state(id).unwrap() {
            State::Granted { tokens } => {
                self.forget(id);
                Outcome::Entered(tokens)
            }
            State::Refused(why) => {
                self.forget(id);
                Outcome::Refused(why.into())
            }
            State::Waiting => Outcome::Waits,
            State::PassedOver => unreachable!("it has just come"),
        }
    }

    pub(super) fn cancel(&mut self, id: usize) {
        if let Some(State::Granted { tokens }) = self.state(id) {
            self.in_flight -= 1;
            self.take_back(id, tokens);
        }
        self.forget(id);
        self.let_in();
    }

    /// It was let in and has not come, or stood behind such a one.
    pub(super) fn pass_over(&mut self, id: usize) {
        let waiter = self.queue.iter_mut().find(|waiter| waiter.id == id);
        let was = std::mem::replace(&mut waiter.unwrap().state, State::PassedOver);
        if let State::Granted { tokens } = was {
            self.in_flight -= 1;
            self.take_back(id, tokens);
        }
    }

    /// The place of a permit is free, unless it was freed before.
    pub(super) fn leave(&mut self, permit: usize) {
        self.leases.retain(|&(_, of)| of != permit);
        if !self.overdue.contains(&permit) {
            self.in_flight -= 1;
        }
        self.let_in();
    }

    pub(super) fn lease(&mut self, permit: usize, until: u64) {
        self.leases.push((until, permit));
        self.let_in();
    }

    pub(super) fn give_back(&mut self, tokens: u32) {
        self.refund(tokens);
        self.let_in();
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit.max(1);
        self.let_in();
    }

    /// `level`: how many tokens there are at the start of a pace, where there was none before.
    pub(super) fn set_pace(&mut self, pace: Option<(Pace, u32)>) {
        match pace {
            None => self.history.clear(),
            Some((pace, level)) => {
                let level = self.bucket.is_none().then_some(level);
                self.history.push((self.now, Event::Pace(pace, level)));
            }
        }
        self.bucket = pace.map(|(pace, level)| Bucket {
            pace,
            level: match self.bucket {
                Some(before) => before.at(self.now).level.min(pace.most()),
                None => i128::from(level) * TOKEN,
            },
            at: self.now,
        });
        self.let_in();
    }

    pub(super) fn pause(&mut self, until: u64) {
        self.pause_until = self.pause_until.max(until);
    }

    pub(super) fn end_pause(&mut self) {
        self.pause_until = 0;
        self.let_in();
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        for waiter in &mut self.queue {
            if matches!(waiter.state, State::Waiting) {
                waiter.state = State::Refused(Why::Closed);
            }
        }
    }

    /// Time passes up to, and without, that moment.
    pub(super) fn pass_time(&mut self, until: u64) {
        while let Some(event) = self.next_event().filter(|&event| event < until) {
            self.now = event;
            self.moment();
        }
        self.now = until;
    }

    /// What this moment brings: an entry for who can, and else the end of a wait that was too long.
    pub(super) fn moment(&mut self) {
        self.let_in();
        let now = self.now;
        for waiter in &mut self.queue {
            if waiter.state == State::Waiting && waiter.deadline <= now {
                waiter.state = State::Refused(Why::WaitedTooLong);
            }
        }
        self.let_in();
    }

    fn next_event(&self) -> Option<u64> {
        let waiting = |waiter: &&Waiter| waiter.state == State::Waiting;
        let head = self.queue.iter().find(waiting)?;
        let tokens = self.bucket.map(|bucket| bucket.at(self.now).due(head.cost));
        let deadlines = self.queue.iter().filter(waiting).map(|one| one.deadline);
        let leases = self.leases.iter().map(|&(until, _)| until);
        [self.pause_until]
            .into_iter()
            .chain(tokens)
            .chain(deadlines)
            .chain(leases)
            .filter(|&event| event > self.now && event != u64::MAX)
            .min()
    }

    /// From the head on, as long as there is no pause, and there are a place and the tokens.
    fn let_in(&mut self) {
        while let Some(head) = self
            .queue
            .iter()
            .position(|waiter| waiter.state == State::Waiting)
        {
            if self.now < self.pause_until {
                return;
            }
            if self.in_flight >= self.limit {
                self.free_overdue();
            }
            if self.in_flight >= self.limit {
                return;
            }
            let cost = self.queue[head].cost;
            let mut tokens = 0;
            if let Some(bucket) = self.bucket.as_mut() {
                *bucket = bucket.at(self.now);
                if bucket.due(cost) > self.now {
                    return;
                }
                bucket.take(cost);
                self.history
                    .push((self.now, Event::Take(self.queue[head].id, cost)));
                tokens = cost;
            }
            self.in_flight += 1;
            self.queue[head].state = State::Granted { tokens };
        }
    }

    fn free_overdue(&mut self) {
        let now = self.now;
        for (_, permit) in self.leases.extract_if(.., |&mut (until, _)| until <= now) {
            self.overdue.push(permit);
            self.in_flight -= 1;
        }
    }

    /// What was granted is not taken up.
    fn take_back(&mut self, id: usize, tokens: u32) {
        if !self.exact {
            return self.refund(tokens);
        }
        let of_it = |(_, event): &(u64, Event)| matches!(*event, Event::Take(of, _) if of == id);
        if let Some(granted) = self.history.iter().rposition(of_it) {
            self.history.remove(granted);
            self.bucket = replay(&self.history).map(|bucket| bucket.at(self.now));
        }
    }

    fn refund(&mut self, tokens: u32) {
        self.history.push((self.now, Event::Give(tokens)));
        if let Some(bucket) = self.bucket.as_mut() {
            *bucket = bucket.at(self.now);
            let level = bucket.level + i128::from(tokens) * TOKEN;
            bucket.level = level.min(bucket.pace.most());
        }
    }

    fn forget(&mut self, id: usize) {
        self.queue.retain(|waiter| waiter.id != id);
    }
}
