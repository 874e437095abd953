//! Several paces, or one that a compare-and-swap cannot keep.

use tidegate_core::Pace;

use crate::account::Account;
use crate::charges::Charge;
use crate::costs::Costs;
use crate::primitives::Primitives;
use crate::window::Window;

/// The paces of a door whose requests all go through its lock: charged all or none.
#[derive(Debug)]
pub(crate) struct Meters<P: Primitives> {
    all: Vec<Option<(Pace, Meter<P>)>>,
    /// How many charges and changes there were.
    number: u64,
}

/// One charge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    at: u64,
    number: u64,
}

#[derive(Debug)]
enum Meter<P: Primitives> {
    Bucket(Account<P>),
    Window(Window),
}

impl<P: Primitives> Meters<P> {
    pub(crate) fn new() -> Self {
        Self {
            all: vec![None],
            number: 0,
        }
    }

    /// One more. Returns its number, or nothing where there are too many.
    pub(crate) fn add(&mut self, pace: Pace, now: u64) -> Option<usize> {
        let number = self.all.len();
        let stamp = self.stamp(now);
        (number < Costs::MOST).then(|| {
            self.all.push(Some((pace, Meter::new(&pace, stamp))));
            number
        })
    }

    /// Another pace, or none, in the place of one. What was taken is kept, unless a bucket becomes a
    /// window or a window a bucket.
    pub(crate) fn set(&mut self, number: usize, pace: Option<Pace>, now: u64) {
        let stamp = self.stamp(now);
        let Some(one) = self.all.get_mut(number) else {
            return;
        };
        match (&mut *one, pace) {
            (Some((old, Meter::Bucket(bucket))), Some(pace)) if pace.window().is_none() => {
                bucket.change(&pace, now, stamp.number);
                *old = pace;
            }
            (Some((old, Meter::Window(window))), Some(pace)) if pace.window().is_some() => {
                window.change(&pace);
                *old = pace;
            }
            (one, pace) => *one = pace.map(|pace| (pace, Meter::new(&pace, stamp))),
        }
    }

    /// By their numbers.
    pub(crate) fn paces(&self) -> impl Iterator<Item = (usize, Option<Pace>)> {
        let all = self.all.iter().enumerate();
        all.map(|(number, place)| (number, place.as_ref().map(|(pace, _)| *pace)))
    }

    /// When all buckets are full and all windows empty, if nobody takes any; `None` without a pace.
    pub(crate) fn full_at(&self) -> Option<u64> {
        let all = self.all.iter().flatten();
        let full =
            |(pace, meter): &(Pace, Meter<P>)| meter.due_behind(0, u64::from(pace.bucket()), 0);
        all.map(full).max()
    }

    /// When all of it may be taken, if nobody takes any.
    pub(crate) fn due(&self, costs: &Costs) -> u64 {
        self.turn(&[0; Costs::MOST], costs, 0)
    }

    /// The same for one who stands behind others that cost `ahead`, from a moment on.
    pub(crate) fn turn(&self, ahead: &[u64; Costs::MOST], costs: &Costs, from: u64) -> u64 {
        self.each().fold(from, |due, (number, meter)| {
            let cost = u64::from(costs.of(number));
            due.max(meter.due_behind(ahead[number], cost, from))
        })
    }

    /// Takes all of it, when it is due; `since` as of [`Bucket::take`](crate::bucket::Bucket::take).
    pub(crate) fn take(&mut self, costs: &Costs, now: u64, since: u64) -> Stamp {
        let stamp = self.stamp(now);
        for (pace, meter) in self.each_mut() {
            match meter {
                Meter::Bucket(bucket) => bucket.charge(costs.of(pace), since, stamp.number),
                // As of now: one that is late is not charged to the past.
                Meter::Window(window) => window.take(costs.of(pace), now),
            }
        }
        stamp
    }

    /// What was charged is only sent now: a window counts it from now on.
    pub(crate) fn sent_now(&mut self, costs: &Costs, stamp: Stamp, now: u64) -> Stamp {
        let at = stamp.at.max(now);
        for (pace, meter) in self.each_mut() {
            if let Meter::Window(window) = meter {
                window.move_to(costs.of(pace), stamp.at, at);
            }
        }
        Stamp { at, ..stamp }
    }

    /// Gives all of it back: nothing was sent.
    pub(crate) fn give_back(&mut self, costs: &Costs, stamp: Option<Stamp>) {
        for (pace, meter) in self.each_mut() {
            meter.give_back(costs.of(pace), 0, stamp);
        }
    }

    /// What was charged costs `actual` in one of them.
    pub(crate) fn settle(&mut self, pace: usize, charge: &Charge, actual: u32, now: u64) {
        let charged = charge.costs.of(pace);
        let number = self.stamp(now).number;
        let meter = self.all.get_mut(pace).and_then(Option::as_mut);
        if let Some((_, meter)) = meter {
            match (meter, actual.checked_sub(charged)) {
                (Meter::Bucket(bucket), Some(more)) => bucket.charge(more, now, number),
                (Meter::Window(window), Some(more)) => window.take(more, now),
                (meter, None) => meter.give_back(charged, actual, Some(charge.stamp)),
            }
        }
    }

    fn stamp(&mut self, at: u64) -> Stamp {
        self.number += 1;
        Stamp {
            at,
            number: self.number,
        }
    }

    fn each(&self) -> impl Iterator<Item = (usize, &Meter<P>)> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(number, place)| place.as_ref().map(|(_, meter)| (number, meter)))
    }

    fn each_mut(&mut self) -> impl Iterator<Item = (usize, &mut Meter<P>)> {
        let all = self.all.iter_mut().enumerate();
        all.filter_map(|(number, place)| place.as_mut().map(|(_, meter)| (number, meter)))
    }
}

impl<P: Primitives> Meter<P> {
    fn new(pace: &Pace, Stamp { at, number }: Stamp) -> Self {
        match pace.window() {
            None => Self::Bucket(Account::new(pace, at, number)),
            Some(_) => Self::Window(Window::new(pace, at)),
        }
    }

    fn due_behind(&self, ahead: u64, cost: u64, from: u64) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.due_behind(ahead, cost, from),
            Self::Window(window) => window.due_behind(ahead, cost, from),
        }
    }

    /// Gives back what makes `charged` to `actual`.
    fn give_back(&mut self, charged: u32, actual: u32, stamp: Option<Stamp>) {
        match self {
            Self::Bucket(bucket) => {
                bucket.give_back(charged, actual, stamp.map(|stamp| stamp.number));
            }
            Self::Window(window) => {
                window.give_back(charged - actual, stamp.map(|stamp| stamp.at));
            }
        }
    }
}
