//! One timer for a whole queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use tokio::runtime::{Handle, Id};
use tokio::time::{Sleep, sleep_until};

use crate::inner::Inner;

/// A tokio timer that, when it fires, runs [`Inner::on_timer`] on the thread that fires it: so it
/// does not matter whether the future that armed it is still polled.
///
/// In fact one for each runtime in which somebody waits for the time, nearly always one: a runtime
/// may end, or nobody may drive it any more, while others wait elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Timer(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    all: Vec<Armed>,
    /// A runtime that has no timers. Asking it costs a panic.
    timeless: Option<Id>,
}

#[derive(Debug)]
struct Armed {
    sleep: Pin<Box<Sleep>>,
    runtime: Id,
    fire: Arc<Fire>,
}

/// What became of arming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arming {
    Done,
    /// The time has passed already.
    Due,
    /// There is no runtime here that has timers.
    NoRuntime,
    /// The runtime in which it was armed ends.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reset {
    Waits,
    /// It has just fired for what it was armed for before.
    Fired,
    /// It will not fire any more.
    Elapsed,
}

#[derive(Debug)]
struct Fire {
    inner: Weak<Inner>,
    state: AtomicU8,
}

const SET: u8 = 0;
/// It is being armed, under the timer's lock.
const ARMING: u8 = 1;
/// It fired meanwhile.
const FIRED: u8 = 2;

impl Wake for Fire {
    fn wake(self: Arc<Self>) {
        // Arming a timer for a moment that has passed, or while it fires, wakes then and there.
        // Whoever arms it does what is due, once it has let go of the lock.
        let state = self.state.compare_exchange(ARMING, FIRED, AcqRel, Acquire);
        if state == Err(SET)
            && let Some(inner) = self.inner.upgrade()
        {
            inner.on_timer();
        }
    }
}

impl Timer {
    /// Fires at the next event, instead of when it would have fired: in the runtime of the caller,
    /// if there is one, and in those in which it was armed before.
    pub(crate) fn arm(&self, inner: &Inner) -> Arming {
        let here = runtime();
        let State { all, timeless } = &mut *self.lock();
        // Under the lock: of two that arm at the same time the second knows what the first knew.
        let Some(event) = inner.next_event() else {
            return Arming::Done;
        };
        let at = inner.instant(event);
        if let Some(id) = here
            && here != *timeless
            && all.iter().all(|armed| armed.runtime != id)
        {
            match Armed::new(id, at, inner.this()) {
                Some(armed) => all.push(armed),
                None => *timeless = here,
            }
        }
        let (mut due, mut ended) = (false, false);
        all.retain_mut(|armed| {
            let reset = armed.reset(at);
            // Elapsed before its time: its runtime ends.
            let ends = reset == Reset::Elapsed && inner.now() < event;
            due |= reset != Reset::Waits && !ends;
            ended |= ends;
            !ends
        });
        match all.is_empty() {
            _ if due => Arming::Due,
            false => Arming::Done,
            true if ended => Arming::Ended,
            true => Arming::NoRuntime,
        }
    }

    /// Whether it is armed in the runtime of the caller, if there is one.
    pub(crate) fn is_here(&self) -> bool {
        runtime().is_none_or(|here| {
            let all = &self.lock().all;
            all.iter().any(|armed| armed.runtime == here)
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn runtime() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

impl Armed {
    /// In the runtime of the caller; `None` if that has no timers.
    fn new(here: Id, at: Instant, inner: Weak<Inner>) -> Option<Self> {
        // The only way to ask.
        let sleep = catch_unwind(|| Box::pin(sleep_until(at.into()))).ok()?;
        Some(Self {
            sleep,
            runtime: here,
            fire: Arc::new(Fire {
                inner,
                state: AtomicU8::new(SET),
            }),
        })
    }

    fn reset(&mut self, at: Instant) -> Reset {
        self.fire.state.store(ARMING, Release);
        self.sleep.as_mut().reset(at.into());
        let elapsed = self.sleep.is_elapsed()
            || catch_unwind(AssertUnwindSafe(|| {
                // Unconstrained: a task that has used up its budget must not be woken under the lock.
                Pin::new(&mut tokio::task::unconstrained(self.sleep.as_mut()))
                    .poll(&mut Context::from_waker(&Waker::from(Arc::clone(
                        &self.fire,
                    ))))
                    .is_ready()
            }))
            // Its runtime has just ended.
            .unwrap_or(true);
        let fired = self.fire.state.swap(SET, AcqRel) == FIRED;
        match (elapsed, fired) {
            (true, _) => Reset::Elapsed,
            (false, true) => Reset::Fired,
            (false, false) => Reset::Waits,
        }
    }
}
