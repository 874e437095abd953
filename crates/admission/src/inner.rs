use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use tidegate_core::{Observers, saturating_nanos};

use crate::admission::{Admission, Entry, Spare};
use crate::bodies::Bodies;
use crate::effects::Effects;
use crate::hands::Hands;
use crate::primitives::Std;
use crate::timer::{Arming, Timer};
use crate::times::Now;

/// What all clones of a door share: an admission, its clock, and who keeps the time.
///
/// `admission` begins with the word that every request changes, next to the counts of the `Arc`.
#[repr(C)]
pub(crate) struct Inner {
    pub(crate) admission: Admission<Std>,
    origin: Instant,
    pub(crate) by: &'static str,
    pub(crate) observers: Observers,
    pub(crate) hands: Hands,
    this: Weak<Inner>,
    timer: Timer,
    /// How many threads wait: they have no runtime to wake them in time.
    pub(crate) threads: AtomicUsize,
    pub(crate) bodies: Bodies,
}

impl Inner {
    pub(crate) fn of(by: &'static str, admission: Admission<Std>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            admission,
            origin: now(),
            by,
            observers: Observers::default(),
            hands: Hands::default(),
            this: Weak::clone(this),
            timer: Timer::default(),
            threads: AtomicUsize::new(0),
            bodies: Bodies::default(),
        })
    }

    #[inline]
    pub(crate) fn leave(&self) {
        if let Some(spare) = self.admission.leave() {
            self.leave_slow(spare);
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_slow(&self, spare: Spare) {
        match self.admission.hand_over(spare) {
            Ok(waker) => waker.into_iter().for_each(Waker::wake),
            Err(queue) => {
                let now = || self.now();
                let effects = self.admission.leave_looking(queue, spare, &now);
                self.apply(effects);
            }
        }
    }

    pub(crate) fn give_back(&self, entry: Entry) {
        self.change(|admission, now| admission.give_back(entry, now));
    }

    pub(crate) fn on_timer(&self) {
        let effects = self.admission.on_timer(&|| self.now());
        if effects.stalled {
            self.warn_of_unread_bodies();
        }
        self.apply(effects);
    }

    /// Changes what the lock protects, and does what that did not allow.
    pub(crate) fn change(&self, change: impl FnOnce(&Admission<Std>, Now<'_>) -> Effects) {
        let effects = change(&self.admission, &|| self.now());
        self.apply(effects);
    }

    /// What the lock did not allow to be done.
    pub(crate) fn apply(&self, mut effects: Effects) {
        if effects.arm.is_some() && !self.arm(&mut effects) {
            let timed = effects.timed;
            let head = self
                .admission
                .with_queue(|queue| queue.without_timer(timed));
            effects.wake(head);
        }
        effects.wake_all();
    }

    /// The same, for one that is being polled. If it waits, nobody keeps the time and only time can
    /// let it in, it would hang.
    pub(crate) fn apply_in_task(&self, mut effects: Effects, waits: bool) {
        // Somebody keeps the time, but perhaps in a runtime that ends before this one.
        if waits && effects.timed && effects.arm.is_none() && !self.timer.is_here() {
            effects.arm = self.next_event();
        }
        let timed = effects.arm.is_none() || self.arm(&mut effects);
        let hangs = !timed
            && self.admission.with_queue(|queue| {
                queue.disarm();
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
                Arming::Due => effects.append(self.admission.on_timer(&|| self.now())),
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
        self.admission.with_queue(|queue| queue.times.armed())
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
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}
