use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use tidegate_core::{
    Observer, Observers, Pace, Refused, RefusedReason, Snapshot, Steer, WeakSteer,
};

use crate::acquire::Acquire;
use crate::admission::{Admission, Charge, Entered, Entry, Request, Spare};
use crate::bodies::Bodies;
use crate::costs::Costs;
use crate::effects::Effects;
use crate::meters::Stamp;
use crate::permit::Permit;
use crate::primitives::Std;
use crate::queue::{Refusal, Why};
use crate::timer::{Arming, Timer};
use crate::word::MAX_LIMIT;

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
pub struct Door(Arc<Inner>);

/// `admission` begins with the word that every request changes, next to the counts of the `Arc`.
#[repr(C)]
pub(crate) struct Inner {
    pub(crate) admission: Admission<Std>,
    origin: Instant,
    by: &'static str,
    timer: Timer,
    pub(crate) bodies: Bodies,
    pub(crate) observers: Observers,
    this: Weak<Inner>,
    /// How many threads wait: they have no runtime to wake them in time.
    pub(crate) threads: AtomicUsize,
}

impl Door {
    /// The highest limit: what a larger one is taken for.
    pub const MAX_LIMIT: usize = MAX_LIMIT;

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
        Self(Arc::new_cyclic(|this| Inner {
            admission,
            origin: now(),
            by,
            timer: Timer::default(),
            bodies: Bodies::default(),
            observers: Observers::default(),
            this: Weak::clone(this),
            threads: AtomicUsize::new(0),
        }))
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
            until: u64::MAX,
        };
        let (entered, effects) = self.0.admission.enter(request, || self.0.now());
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

    /// How many may be inside; `usize::MAX` where there is no limit.
    pub fn limit(&self) -> usize {
        self.0.admission.word().limit()
    }

    /// Moves the limit; 0 is taken as 1, and at most [`MAX_LIMIT`](Self::MAX_LIMIT). Does nothing
    /// where there is none.
    ///
    /// Below what is in flight it is honoured by not admitting; raised, it lets in as many as fit.
    pub fn set_limit(&self, limit: usize) {
        let effects = self.0.admission.set_limit(limit, || self.0.now());
        self.0.apply(effects);
    }

    /// How many are inside; 0 where there is no limit.
    pub fn in_flight(&self) -> usize {
        self.0.admission.word().in_flight()
    }

    /// How many wait to enter.
    pub fn waiting(&self) -> usize {
        self.0.admission.with_queue(|queue| queue.ring.waiting())
    }

    /// How many may enter per second.
    pub fn pace(&self) -> Option<Pace> {
        self.0.admission.with_queue(|queue| queue.pace)
    }

    /// Another pace, or none. Whoever waits is timed anew; tokens and debts of the old pace are kept.
    pub fn set_pace(&self, pace: Option<Pace>) {
        let effects = self.0.admission.set_pace(pace, || self.0.now());
        self.0.apply(effects);
    }

    /// One more pace, beside the one that [`set_pace`](Self::set_pace) sets, which has the number 0.
    /// Returns its number.
    ///
    /// A request enters when all of them let it, and is charged by all or by none. From now on every
    /// request takes the door's lock, whether it has to wait or not; a pace that was set before begins
    /// anew.
    ///
    /// # Panics
    ///
    /// If there are [`Costs::MOST`] already.
    #[track_caller]
    pub fn add_pace(&self, pace: Pace) -> usize {
        let (number, effects) = self.0.admission.add_pace(pace, || self.0.now());
        self.0.apply(effects);
        let Some(number) = number else {
            panic!("a door has at most {} paces", Costs::MOST)
        };
        number
    }

    /// Moves the pace of that number. One that there is not stays as it is.
    pub fn set_pace_of(&self, number: usize, pace: Option<Pace>) {
        if number == 0 {
            return self.set_pace(pace);
        }
        let now = || self.0.now();
        let effects = self.0.admission.set_pace_of(number, pace, now);
        self.0.apply(effects);
    }

    /// All paces, in the order of their numbers.
    pub fn paces(&self) -> Vec<Option<Pace>> {
        self.0.admission.with_queue(|queue| match &queue.meters {
            Some(meters) => meters.paces(),
            None => vec![queue.pace],
        })
    }

    /// Has every charge kept, so that it can be [corrected](Self::correct), in all paces. From now on
    /// every request takes the door's lock; a pace that was set before begins anew.
    pub fn keep_charges(&self) {
        let effects = self.0.admission.keep_meters(|| self.0.now());
        self.0.apply(effects);
    }

    /// What was charged turns out to cost `actual` in the pace of that number: what is missing is
    /// charged now, and may be a debt; what was too much is given back, but never more than there
    /// would be had it not been taken.
    ///
    /// Of a door that has one pace it needs [`keep_charges`](Self::keep_charges) before; otherwise
    /// it does nothing. To be called once for each charge and pace.
    pub fn correct(&self, charge: &Charge, pace: usize, actual: u32) {
        let now = || self.0.now();
        let effects = self.0.admission.correct(charge, pace, actual, now);
        self.0.apply(effects);
    }

    /// Gives back what was charged: nothing was sent.
    pub(crate) fn give_back(&self, charge: &Charge) {
        let effects = self.0.admission.give_back_charge(charge, || self.0.now());
        self.0.apply(effects);
    }

    /// Until when nobody may enter.
    pub fn paused_until(&self) -> Option<Instant> {
        let now = self.0.now();
        let until = self.0.admission.with_queue(|queue| queue.pause_until);
        (until > now).then(|| self.0.instant(until))
    }

    /// When its bucket is full again, if it is not.
    fn full_at(&self) -> Option<Instant> {
        let now = self.0.now();
        let full_at = self.0.admission.full_at().filter(|&at| at > now);
        full_at.map(|at| self.0.instant(at))
    }

    /// Nobody enters before `until`. Extends a pause and never shortens it.
    pub fn pause_until(&self, until: Instant) {
        let until = self.0.nanos(until);
        let effects = self.0.admission.pause_until(until, || self.0.now());
        self.0.apply(effects);
    }

    /// Nobody enters before `until`, since the service asked for it.
    ///
    /// As [`pause_until`](Self::pause_until), and whoever would have to wait for its end longer than
    /// [anybody waits](Self::set_longest_pause), or than it may, is refused at once, with when to try
    /// again; those that wait already too. The others do not come back together: they enter one by one, with gaps of random length
    /// that only add. In the first second no more enter than may be inside, or than the burst if that
    /// is less, and each second after that up to twice as many, until nobody waits.
    ///
    /// A moment that is past does nothing.
    pub fn cool_down_until(&self, until: Instant) {
        let until = self.0.nanos(until);
        let effects = self.0.admission.cool_down(until, || self.0.now());
        self.0.apply(effects);
    }

    /// How long anybody waits at most for the end of a pause that the [service asked
    /// for](Self::cool_down_until). Default 60 s, and that long is waited. Holds for those that come, and
    /// for pauses that are asked for, from now on.
    pub fn set_longest_pause(&self, longest: Duration) {
        let longest = saturating_nanos(longest);
        self.0
            .admission
            .with_queue(|queue| queue.cooldown.set_longest(longest));
    }

    /// Ends a pause at once.
    pub fn end_pause(&self) {
        let effects = self.0.admission.end_pause(|| self.0.now());
        self.0.apply(effects);
    }

    /// How many may wait at most; whoever comes then is refused. Default: no bound.
    ///
    /// Those that wait already stay.
    pub fn set_max_queue(&self, max_queue: usize) {
        self.0
            .admission
            .with_queue(|queue| queue.max_queue = max_queue);
    }

    /// How many may wait at most; `usize::MAX` where there is no bound.
    pub fn max_queue(&self) -> usize {
        self.0.admission.with_queue(|queue| queue.max_queue)
    }

    /// How long one may wait at most.
    pub fn max_wait(&self) -> Option<Duration> {
        let max_wait = self.0.admission.with_queue(|queue| queue.max_wait);
        (max_wait != u64::MAX).then(|| Duration::from_nanos(max_wait))
    }

    /// How long one may wait at most. Default: for ever.
    ///
    /// Whoever cannot be served in time, as far as pace and pause tell, is refused at once and
    /// leaves no trace; with a wait of nothing, whoever cannot enter at once. Holds for those that
    /// come from now on.
    pub fn set_max_wait(&self, max_wait: Option<Duration>) {
        let max_wait = max_wait.map_or(u64::MAX, saturating_nanos);
        self.0
            .admission
            .with_queue(|queue| queue.max_wait = max_wait);
    }

    /// Closes the door for good: whoever waits or comes is refused, whoever is inside finishes.
    pub fn close(&self) {
        let effects = self.0.admission.close(|| self.0.now());
        self.0.apply(effects);
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.0.admission.with_queue(|queue| queue.closed)
    }

    /// Closes the door, waits until nobody is inside, and returns how many still are after
    /// `timeout`: 0 when all have left.
    pub async fn drain(&self, timeout: Duration) -> usize {
        crate::drain::drain(self, timeout).await
    }

    /// Has `observer` hear who had to wait and who was refused, from now on. A request that enters at
    /// once costs nothing more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::time::{Duration, Instant};
    /// use tidegate_admission::Door;
    /// use tidegate_core::{Observer, Refused};
    ///
    /// #[derive(Debug, Default)]
    /// struct Count(AtomicU32);
    ///
    /// impl Observer for Count {
    ///     fn on_refused(&self, _: Instant, _: &Refused, _: Duration) {
    ///         self.0.fetch_add(1, Relaxed);
    ///     }
    /// }
    ///
    /// let (door, count) = (Door::new("gate", 1), Arc::new(Count::default()));
    /// door.observe(Arc::clone(&count) as _);
    /// let _inside = door.try_acquire(1);
    /// assert!(door.try_acquire(1).is_err());
    /// assert_eq!(count.0.load(Relaxed), 1);
    /// ```
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.0.observers.add(observer);
    }

    /// How many permits were freed by [`Place::expire_after`](crate::Place::expire_after) before their holders let go of them.
    pub fn overdue(&self) -> u64 {
        self.0.admission.with_queue(|queue| queue.overdue)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl Inner {
    #[inline]
    pub(crate) fn leave(&self) {
        if let Some(spare) = self.admission.leave() {
            self.leave_slow(spare);
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_slow(&self, spare: Spare) {
        let effects = self.admission.leave_slow(spare, || self.now());
        self.apply(effects);
    }

    pub(crate) fn give_back(&self, entry: Entry) {
        let effects = self.admission.give_back(entry, || self.now());
        self.apply(effects);
    }

    pub(crate) fn on_timer(&self) {
        let effects = self.admission.on_timer(|| self.now());
        if effects.stalled {
            self.warn_of_unread_bodies();
        }
        self.apply(effects);
    }

    fn warn_of_unread_bodies(&self) {
        let in_flight = self.admission.word().in_flight();
        if in_flight > 0 && self.bodies.all_unread(in_flight) {
            tracing::warn!(
                by = self.by,
                in_flight,
                waiting = self.admission.with_queue(|queue| queue.ring.waiting()),
                "every place is held by a response body that nobody reads while others wait: \
                 read the body in the task that sends the request"
            );
        }
    }

    /// What the lock did not allow to be done.
    #[inline]
    pub(crate) fn apply(&self, mut effects: Effects) {
        if effects.arm.is_some() && !self.arm(&mut effects) {
            let timed = effects.timed;
            effects.wake(
                self.admission
                    .with_queue(|queue| queue.without_timer(timed)),
            );
        }
        effects.wake_all();
    }

    /// The same, for one that is being polled. If it waits, nobody keeps the time and only time can
    /// let it in, it would hang.
    #[inline]
    pub(crate) fn apply_in_task(&self, mut effects: Effects, waits: bool) {
        // Somebody keeps the time, but perhaps in a runtime that ends before this one.
        if waits && effects.timed && effects.arm.is_none() && !self.timer.is_here() {
            effects.arm = self.next_event();
        }
        let timed = effects.arm.is_none() || self.arm(&mut effects);
        let hangs = !timed
            && self.admission.with_queue(|queue| {
                queue.armed = None;
                waits && queue.needs_time()
            });
        effects.wake_all();
        assert!(
            !hangs,
            "waiting for a pace, a pause or a longest wait needs a tokio runtime with time enabled"
        );
    }

    /// Arms the timer, and says whether somebody keeps the time.
    #[cold]
    fn arm(&self, effects: &mut Effects) -> bool {
        let mut timed = true;
        while effects.arm.take().is_some() {
            let thread = self.threads.load(Relaxed) > 0 && self.wake_first_thread();
            match self.timer.arm(self) {
                Arming::Done => {}
                Arming::Due => effects.append(self.admission.on_timer(|| self.now())),
                Arming::NoRuntime => timed = thread,
                Arming::Ended => {
                    timed = thread;
                    effects.timed = true;
                }
            }
        }
        timed
    }

    /// The first thread that waits also waits for the time that is next, for all. Returns whether
    /// there is one.
    pub(crate) fn wake_first_thread(&self) -> bool {
        let waker = self
            .admission
            .with_queue(|queue| queue.ring.first_thread_waker().cloned());
        waker.map(Waker::wake).is_some()
    }

    /// When the timer is to fire.
    pub(crate) fn next_event(&self) -> Option<u64> {
        self.admission.with_queue(|queue| queue.armed)
    }

    pub(crate) fn this(&self) -> Weak<Self> {
        Weak::clone(&self.this)
    }

    /// A thread that may have kept the time for all leaves: the next one does from now on, or the
    /// head where it is polled.
    pub(crate) fn pass_on_the_time(&self) {
        if !self.wake_first_thread() {
            let head = self.admission.with_queue(|queue| queue.without_timer(true));
            head.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn refused(&self, refusal: Refusal) -> Refused {
        let (max_queue, max_wait, longest) = self
            .admission
            .with_queue(|queue| (queue.max_queue, queue.max_wait, queue.cooldown.longest()));
        let max_wait = Duration::from_nanos(max_wait);
        let reason = match refusal.why {
            Why::NoRoom => RefusedReason::NoRoom,
            Why::QueueFull => RefusedReason::QueueFull { max_queue },
            Why::WaitTooLong => RefusedReason::WaitTooLong { max_wait },
            Why::WaitedTooLong => RefusedReason::WaitedTooLong { max_wait },
            Why::Paused => RefusedReason::Paused {
                longest: Duration::from_nanos(longest),
            },
            Why::Closed => RefusedReason::Closed,
        };
        Refused::new(self.by, reason).retry_after(refusal.wait.map(Duration::from_nanos))
    }

    /// One that began to wait `since` then has entered.
    pub(crate) fn tell_wait(&self, since: u64) {
        let now = self.now();
        let (waited, now) = (now.saturating_sub(since), self.instant(now));
        for observer in self.observers.iter() {
            observer.on_wait(now, Duration::from_nanos(waited));
        }
    }

    /// The same for one that was refused, whether it has waited or not.
    pub(crate) fn tell_refused(&self, refused: &Refused, since: Option<u64>) {
        if !self.observers.any() {
            return;
        }
        let now = self.now();
        let waited = Duration::from_nanos(since.map_or(0, |since| now.saturating_sub(since)));
        let now = self.instant(now);
        for observer in self.observers.iter() {
            observer.on_refused(now, refused, waited);
        }
    }

    pub(crate) fn by(&self) -> &'static str {
        self.by
    }

    pub(crate) fn now(&self) -> u64 {
        self.nanos(now())
    }

    pub(crate) fn nanos(&self, at: Instant) -> u64 {
        saturating_nanos(at.saturating_duration_since(self.origin))
    }

    pub(crate) fn instant(&self, nanos: u64) -> Instant {
        let far = Duration::from_secs(86_400 * 365);
        self.origin
            .checked_add(Duration::from_nanos(nanos))
            .unwrap_or_else(|| self.origin + far)
    }
}

/// The one place where this crate reads a clock: tokio's, which tests can pause.
#[expect(clippy::disallowed_methods, reason = "the door's clock")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Another one for each door, so that the gaps after a pause differ in each process.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// In 64 bits: `Duration::as_nanos` multiplies in 128, on the way of every request that has a pace.
#[inline]
pub(crate) fn saturating_nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}

impl Steer for Door {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new(self.limit());
        snapshot.in_flight = self.in_flight();
        snapshot.pause_until = self.paused_until();
        snapshot.full_at = self.full_at();
        self.0.admission.with_queue(|queue| {
            snapshot.waiting = queue.ring.waiting();
            snapshot.pace = queue.pace;
            snapshot.closed = queue.closed;
        });
        snapshot
    }

    fn downgrade(&self) -> WeakSteer {
        let door = Weak::clone(&self.0.this);
        WeakSteer::new(move || Some(Self(door.upgrade()?).snapshot()))
    }

    fn set_limit(&self, limit: usize) {
        self.set_limit(limit);
    }

    fn set_pace(&self, pace: Option<Pace>) {
        self.set_pace(pace);
    }

    fn pause_until(&self, until: Instant) {
        self.pause_until(until);
    }

    fn observe(&self, observer: Arc<dyn Observer>) {
        self.observe(observer);
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

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}
