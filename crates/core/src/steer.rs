use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use crate::{Freshness, FurtherPaces, Observer, Pace, WeakSteer};

/// What everything that can be watched and moved while it runs has in common.
///
/// Reports, batch drivers, key maps and pages hold an `Arc<dyn Steer>`, so that none of them needs
/// to know which layer it steers.
pub trait Steer: Debug + Send + Sync {
    /// How it stands now.
    fn snapshot(&self) -> Snapshot;

    /// How it stands whenever it is asked, until it is gone: for those that watch it and should not
    /// keep it alive. Default: it is taken for gone.
    fn downgrade(&self) -> WeakSteer {
        WeakSteer::new(|| None)
    }

    /// How many may be in flight from now on; 0 is taken as 1 (to stop, pause or close).
    ///
    /// Never waits, and does nothing where nobody is counted, as at a rate without a gate. Below what is
    /// in flight it is honoured by not admitting until there is room.
    fn set_limit(&self, limit: usize);

    /// How many may start per second from now on; `None` lifts it. Everybody who waits is timed anew.
    fn set_pace(&self, pace: Option<Pace>);

    /// Nobody starts before `until`. Extends a pause and never shortens it.
    fn pause_until(&self, until: Instant);

    /// Holds what a law decides until [`resume`](Self::resume). Without a law it does nothing.
    fn freeze(&self) {}

    /// Lets the law move the limit again. Does not end a pause.
    fn resume(&self) {}

    /// Has `observer` hear what happens here, from now on: who had to wait and who was refused, and
    /// with a law what that hears and does.
    fn observe(&self, observer: Arc<dyn Observer>) {
        drop(observer);
    }
}

/// Whatever has a `Steer` in it, such as the handle of a layer or an `Arc<dyn Steer>`, is one.
impl<T: AsRef<dyn Steer> + Debug + Send + Sync> Steer for T {
    fn snapshot(&self) -> Snapshot {
        self.as_ref().snapshot()
    }

    fn downgrade(&self) -> WeakSteer {
        self.as_ref().downgrade()
    }

    fn set_limit(&self, limit: usize) {
        self.as_ref().set_limit(limit);
    }

    fn set_pace(&self, pace: Option<Pace>) {
        self.as_ref().set_pace(pace);
    }

    fn pause_until(&self, until: Instant) {
        self.as_ref().pause_until(until);
    }

    fn freeze(&self) {
        self.as_ref().freeze();
    }

    fn resume(&self) {
        self.as_ref().resume();
    }

    fn observe(&self, observer: Arc<dyn Observer>) {
        self.as_ref().observe(observer);
    }
}

/// How a door stands at one moment. The numbers are read one by one: under load they may be of
/// neighbouring moments.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact that holds beside the others"
)]
pub struct Snapshot {
    /// How many may be in flight.
    pub limit: usize,
    /// How many are in flight.
    pub in_flight: usize,
    /// How many wait to enter.
    pub waiting: usize,
    /// How many may start per second; of several paces the first, which has the number 0.
    pub pace: Option<Pace>,
    /// The others, each in the unit of its costs, such as tokens.
    pub further_paces: FurtherPaces,
    /// Until when nobody may start.
    pub pause_until: Option<Instant>,
    /// When its bucket is full again, if it is not: until then it keeps a debt.
    pub full_at: Option<Instant>,
    /// The share of failures that a law aims at, where it has one.
    pub setpoint: Option<f64>,
    /// Whether a law moves it.
    pub learns: bool,
    /// Whether the law is held.
    pub frozen: bool,
    /// Whether the law decides without being followed.
    pub shadow: bool,
    /// The limit that it then asks for, to a fraction of a request.
    pub asked: Option<f64>,
    /// Whether it is closed for good.
    pub closed: bool,
}

impl Snapshot {
    /// Nothing in flight, nobody waiting, neither pace nor pause.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            in_flight: 0,
            waiting: 0,
            pace: None,
            further_paces: FurtherPaces::default(),
            pause_until: None,
            full_at: None,
            setpoint: None,
            learns: false,
            frozen: false,
            shadow: false,
            asked: None,
            closed: false,
        }
    }

    /// All paces with their numbers, by which a door moves them: `set_pace_of`.
    pub fn paces(&self) -> impl Iterator<Item = (usize, Pace)> {
        let first = self.pace.map(|pace| (0, pace));
        first.into_iter().chain(self.further_paces.iter())
    }

    /// What would be lost if a new one took its place at `now`.
    ///
    /// Whether somebody has moved its limit or its pace by hand does not show in it.
    pub fn freshness(&self, now: Instant) -> Freshness {
        let later = |at: Option<Instant>| at.is_some_and(|at| at > now);
        let occupied = self.in_flight > 0 || self.waiting > 0;
        let owes = later(self.pause_until) || later(self.full_at);
        let held = self.frozen || self.shadow || self.closed;
        if occupied || owes || held {
            Freshness::InUse
        } else if self.learns {
            Freshness::Learned
        } else {
            Freshness::Fresh
        }
    }
}
