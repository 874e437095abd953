use std::mem;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_admission::Door;
use tidegate_classify::Verdict;
use tidegate_core::{
    Cause, Change, Controller, Observer, Observers, Outcome, Pace, Reason, Sample, Setting,
};

use crate::patience::Patience;
use crate::told::{OwnPace, Told};
use crate::waits::Waits;

/// A law and the door that it moves.
///
/// One lock, held for the law alone. What the law asks for is done at the door outside of it, by
/// whoever finds that nobody else is doing so: in the order in which it was asked for, and without
/// a lock that a waker could come back to.
#[derive(Debug)]
pub(crate) struct ControlLoop<L> {
    state: Mutex<State<L>>,
    door: Door,
    watches_starts: AtomicBool,
    observers: Observers,
}

#[derive(Debug)]
struct State<L> {
    law: L,
    patience: Patience,
    frozen: bool,
    shadow: bool,
    told: Told,
    own_pace: OwnPace,
    telling: Telling,
}

/// Whether somebody tells the door what the law asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Nobody,
    Somebody,
    /// Somebody, and there is more to tell since.
    More,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    at: Instant,
    in_flight: u32,
}

impl Sent {
    /// How long it has been out.
    #[inline]
    pub(crate) fn until(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }
}

impl<L: Controller> ControlLoop<L> {
    /// Gives the door the law's setting.
    pub(crate) fn new(law: L, door: Door) -> Self {
        let watches_starts = AtomicBool::new(law.watches_starts());
        let state = State {
            law,
            patience: Patience::default(),
            frozen: false,
            shadow: false,
            told: Told::nothing(&door),
            own_pace: OwnPace::AsTold,
            telling: Telling::Nobody,
        };
        let this = Self {
            state: Mutex::new(state),
            door,
            watches_starts,
            observers: Observers::default(),
        };
        this.tell(this.lock());
        this
    }

    pub(crate) fn door(&self) -> &Door {
        &self.door
    }

    pub(crate) fn late_after(&self, late_after: Duration) {
        self.lock().patience.fix(late_after);
    }

    /// A request goes out.
    #[inline]
    pub(crate) fn send(&self) -> Sent {
        let at = now();
        let in_flight = self.in_flight();
        if self.watches_starts.load(Relaxed) {
            let mut state = self.lock();
            if !state.frozen {
                state.law.on_start(at, in_flight);
                self.note(&state.law);
            }
        }
        Sent {
            at,
            in_flight: in_flight as u32,
        }
    }

    /// The outcome of a request is known, now, and so long after it was sent.
    pub(crate) fn answer(
        &self,
        sent: &Sent,
        (now, took): (Instant, Duration),
        verdict: Verdict,
        latency: Option<Duration>,
    ) {
        let sample = Sample {
            started: sent.at,
            latency,
            in_flight_at_start: sent.in_flight as usize,
            in_flight: self.in_flight(),
            outcome: verdict.outcome,
            retry_after: verdict.retry_after,
        };
        let mut state = self.lock();
        if sample.outcome.is_success() {
            state.patience.succeeded(took);
        }
        let frozen = state.frozen;
        self.step(state, now, Some(&sample), |law| {
            if frozen {
                None
            } else {
                law.on_sample(now, &sample)
            }
        });
    }

    /// Its caller gave up before its outcome was known.
    pub(crate) fn give_up(&self, sent: &Sent) {
        let now = now();
        let took = sent.until(now);
        let late = self.lock().patience.is_late(took);
        let outcome = if late {
            Outcome::Overload(Cause::TimedOut)
        } else {
            Outcome::Ignored
        };
        self.answer(sent, (now, took), outcome.into(), None);
    }

    /// Looks at the law, or changes it.
    pub(crate) fn law<T>(&self, change: impl FnOnce(&mut L) -> T) -> T {
        let mut result = None;
        self.step(self.lock(), now(), None, |law| {
            let from = law.setting();
            result = Some(change(law));
            let to = law.setting();
            let reason = Reason::Manual;
            (from != to).then_some(Change { from, to, reason })
        });
        result.expect("a step calls what it is given")
    }

    /// Looks at the law as it is: nobody is told of anything.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&L) -> T) -> T {
        read(&self.lock().law)
    }

    /// What the law asks for.
    pub(crate) fn setting(&self) -> Setting {
        self.read(Controller::setting)
    }

    pub(crate) fn observe(&self, observer: Arc<dyn Observer>) {
        self.door.observe(Arc::new(Waits(Arc::clone(&observer))));
        self.observers.add(observer);
    }

    /// Another pace of the user's: the slower of it and the law's is in force when this returns.
    pub(crate) fn set_pace(&self, pace: Option<Pace>) {
        let mut state = self.lock();
        state.own_pace = OwnPace::Moved(pace);
        self.tell(state);
    }

    pub(crate) fn freeze(&self) {
        self.lock().frozen = true;
    }

    pub(crate) fn resume(&self) {
        let mut state = self.lock();
        state.frozen = false;
        let now = now();
        let by_hand = self.follow(&mut state, now);
        self.tell(state);
        self.tell_observers(now, None, [by_hand.as_ref(), None]);
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.lock().frozen
    }

    /// Whether the law decides without being followed.
    pub(crate) fn set_shadow(&self, shadow: bool) {
        let mut state = self.lock();
        state.shadow = shadow;
        self.tell(state);
        if shadow {
            self.door.by_law().end_pause();
        }
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.lock().shadow
    }

    /// The limit that the law asks for, if it is not followed.
    pub(crate) fn asked_in_shadow(&self) -> Option<f64> {
        let state = self.lock();
        state.shadow.then(|| state.law.setting().limit)
    }

    /// Steps the law, does at the door what it asks for if it has moved, and lets others hear of it.
    fn step<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<L>>,
        now: Instant,
        sample: Option<&Sample>,
        step: impl FnOnce(&mut L) -> Option<Change>,
    ) {
        let by_hand = self.follow(&mut state, now);
        let by_law = step(&mut state.law);
        self.note(&state.law);
        match by_law {
            Some(_) if !state.frozen => self.tell(state),
            _ => drop(state),
        }
        let changes = [by_hand.as_ref(), by_law.as_ref()];
        self.tell_observers(now, sample, changes);
    }

    /// Under the law's lock: whether it has to be locked for the next start.
    fn note(&self, law: &L) {
        let watches = law.watches_starts();
        if watches != self.watches_starts.load(Relaxed) {
            self.watches_starts.store(watches, Relaxed);
        }
    }

    /// Somebody else has moved the door: the law goes on from there.
    fn follow(&self, state: &mut State<L>, now: Instant) -> Option<Change> {
        let limit = self.door.limit();
        let told = limit == state.told.limit || state.telling != Telling::Nobody;
        if told || state.shadow || state.frozen {
            return None;
        }
        state.told.limit = limit;
        let from = state.law.setting();
        state.law.move_to(now, limit as f64);
        let to = state.law.setting();
        let reason = Reason::Manual;
        Some(Change { from, to, reason })
    }

    fn tell<'a>(&'a self, mut state: MutexGuard<'a, State<L>>) {
        if state.telling != Telling::Nobody {
            state.telling = Telling::More;
            return;
        }
        let teller = Teller(self);
        loop {
            state.telling = Telling::Somebody;
            let told = state.told;
            let own_pace = mem::replace(&mut state.own_pace, OwnPace::AsTold);
            let setting = if state.shadow {
                Setting::limit(f64::INFINITY)
            } else {
                state.law.setting()
            };
            drop(state);
            let told = told.and_now(&setting, own_pace, &self.door);
            state = self.lock();
            state.told = told;
            if state.telling == Telling::Somebody {
                break;
            }
        }
        state.telling = Telling::Nobody;
        mem::forget(teller);
    }

    /// Outside of the lock: they may ask the law.
    fn tell_observers(&self, now: Instant, sample: Option<&Sample>, changes: [Option<&Change>; 2]) {
        for observer in self.observers.iter() {
            if let Some(sample) = sample {
                observer.on_sample(now, sample);
            }
            for change in changes.into_iter().flatten() {
                observer.on_change(now, change);
            }
        }
    }

    /// How many are in flight, one that leaves and one that is not counted included.
    fn in_flight(&self) -> usize {
        self.door.in_flight().max(1)
    }
}

impl<L> ControlLoop<L> {
    /// A law that panics poisons it; what it asks for is still what it asks for.
    fn lock(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the door, which wakes those who wait: if a waker panics, the next one may tell it.
struct Teller<'a, L>(&'a ControlLoop<L>);

impl<L> Drop for Teller<'_, L> {
    fn drop(&mut self) {
        self.0.lock().telling = Telling::Nobody;
    }
}

/// The one place where this crate reads a clock: tokio's, which tests can pause.
#[expect(clippy::disallowed_methods, reason = "the clock of this shell")]
#[inline]
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
