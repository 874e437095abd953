use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Refused, Steer};

use crate::acquire::Acquire;
use crate::admission::{Admission, Entered, Request};
use crate::charges::Charge;
use crate::costs::Costs;
use crate::inner::{Inner, seed};
use crate::meters::Stamp;
use crate::permit::Permit;
use crate::primitives::Std;
use crate::times::NEVER;

/// How many may be inside, how many may enter per second, and until when nobody may: one admission,
/// one queue.
///
/// A clone is the same door. Every setting can be moved while it runs and none of that ever waits.
///
/// ```
/// use std::time::Duration;
/// use tidegate_admission::Door;
///
/// let door = Door::new("gate", 1);
/// let inside = door.try_acquire(1).unwrap();
/// let refused = door.try_acquire(1).unwrap_err();
/// assert_eq!(refused.to_string(), "refused by gate, nothing was sent: no room now");
///
/// drop(inside);
/// let _inside = door.acquire_blocking(1, Some(Duration::from_secs(1))).unwrap();
/// ```
#[derive(Clone)]
pub struct Door(pub(crate) Arc<Inner>);

impl Door {
    /// A door that lets `limit` in at once, under the name that its refusals give as theirs.
    ///
    /// No pace, no pause, and no bound on how many may wait or for how long.
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    #[track_caller]
    pub fn new(by: &'static str, limit: usize) -> Self {
        assert!(limit > 0, "a limit is at least 1");
        Self::of(by, Admission::new(limit, seed()))
    }

    /// A door without a limit, for a pace and pauses alone.
    ///
    /// Those inside are not counted, so that a permit holds no place and to enter costs a
    /// compare-and-swap less. No limit can be set later.
    ///
    /// ```
    /// use tidegate_admission::Door;
    /// use tidegate_core::per_second;
    ///
    /// let door = Door::without_limit("rate");
    /// door.set_pace(Some(per_second(50.0).burst(2)));
    /// let taken: Vec<_> = (0..3).map(|_| door.try_acquire(1).is_ok()).collect();
    /// assert_eq!(taken, [true, true, false]);
    /// ```
    pub fn without_limit(by: &'static str) -> Self {
        Self::of(by, Admission::uncounted(seed()))
    }

    fn of(by: &'static str, admission: Admission<Std>) -> Self {
        Self(Inner::of(by, admission))
    }

    /// A place inside, and `cost` tokens if there is a pace.
    ///
    /// A `cost` above the burst is served once the bucket is full, and leaves a debt; a `cost` of 0
    /// takes a place and no token. Nothing happens before the first poll.
    ///
    /// # Errors
    ///
    /// If it may not wait, waited too long, or the door is closed.
    #[inline]
    pub fn acquire(&self, cost: u32) -> Acquire {
        Acquire::new(self.clone(), cost, ())
    }

    /// A place inside, and so many tokens in each pace: all of them or none.
    ///
    /// ```
    /// use tidegate_admission::{Costs, Door};
    /// use tidegate_core::per_minute;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tidegate_core::Refused> {
    /// let door = Door::without_limit("rate");
    /// door.set_pace(Some(per_minute(500.0)));
    /// door.add_pace(per_minute(200_000.0).burst(10_000));
    ///
    /// let mut acquire = door.acquire_each(Costs::new(&[1, 1_500]));
    /// std::future::poll_fn(|context| acquire.poll_enter(context)).await.map_err(|refused| *refused)?;
    /// let charge = acquire.tab();
    /// drop(acquire.take());
    /// door.correct(&charge, 1, 1_234); // what it turned out to cost in the second
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire_each(&self, costs: Costs) -> Acquire<Charge> {
        Acquire::new(
            self.clone(),
            costs.of(0),
            Charge {
                costs,
                stamp: Stamp::default(),
            },
        )
    }

    /// The same as [`acquire`](Self::acquire), of a door that is given up for it.
    pub fn into_acquire(self, cost: u32) -> Acquire {
        Acquire::new(self, cost, ())
    }

    /// A place inside now, or not at all.
    ///
    /// It may be refused with nothing in its way while another request, which has no tokens, is
    /// giving up its place again.
    ///
    /// # Errors
    ///
    /// If there is no room now, or the door is closed.
    #[inline]
    pub fn try_acquire(&self, cost: u32) -> Result<Permit, Refused> {
        match self.0.admission.try_enter(cost, || self.0.now()) {
            Some(entry) => Ok(Permit::new(self.clone(), entry)),
            None => self.try_acquire_slow(cost),
        }
    }

    /// `cost` tokens now, or none: [`try_acquire`](Self::try_acquire) without the place, which is free
    /// again at once. Returns how many it took.
    ///
    /// # Errors
    ///
    /// If there is no room now, or the door is closed.
    #[inline]
    pub fn try_charge(&self, cost: u32) -> Result<u32, Refused> {
        match self.0.admission.try_enter(cost, || self.0.now()) {
            Some(entry) => {
                self.0.leave();
                Ok(entry.tokens)
            }
            None => self.try_acquire_slow(cost).map(|permit| permit.tokens()),
        }
    }

    #[cold]
    #[inline(never)]
    fn try_acquire_slow(&self, cost: u32) -> Result<Permit, Refused> {
        let request = Request {
            cost,
            costs: None,
            waker: None,
            thread: false,
            until: NEVER,
        };
        let (entered, effects) = self.0.admission.enter(request, &|| self.0.now());
        let entered = match entered {
            Entered::Yes(entry) => Ok(Permit::new(self.clone(), entry)),
            Entered::No(refusal) => Err(self.0.refused(refusal)),
            Entered::Waits(_) => unreachable!("one without a waker does not wait"),
        };
        self.0.apply(effects);
        if let Err(refused) = &entered {
            self.0.tell_refused(refused, None);
        }
        entered
    }

    /// A place inside, for a thread: it parks until it may enter, at most for `timeout`.
    ///
    /// It stands in the same queue as those that [`acquire`](Self::acquire). If it cannot be served
    /// within `timeout`, as far as pace and pause tell, it is refused at once. Not for use in a task:
    /// it blocks the thread.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and if it did not get in within `timeout`.
    pub fn acquire_blocking(
        &self,
        cost: u32,
        timeout: Option<Duration>,
    ) -> Result<Permit, Refused> {
        crate::blocking::acquire(self, cost, timeout)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("by", &self.0.by)
            .field("snapshot", &self.snapshot())
            .finish()
    }
}
