//! One timer for a whole queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Wake, Waker};

use tokio::runtime::{Handle, Id};
use tokio::time::{Sleep, sleep_until};

use crate::door::Inner;

/// A tokio timer that, when it fires, runs [`Inner::on_timer`] on the thread that fires it: so it
/// does not matter whether the future that armed it is still polled.
#[derive(Debug, Default)]
pub(crate) struct Timer(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    armed: Option<Armed>,
    /// A runtime that has no timers, or none any more.
    timeless: Option<Id>,
}

#[derive(Debug)]
struct Armed {
    sleep: Pin<Box<Sleep>>,
    runtime: Option<Id>,
    fire: Arc<Fire>,
}

/// What became of arming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arming {
    Done,
    /// The time has passed already.
    Due,
    /// There is no runtime here, or none that lives.
    NoRuntime,
    /// Nor was there the last time.
    StillNoRuntime,
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
        // Arming a timer for a moment that has passed fires it then and there. Whoever arms it does
        // what is due, once it has let go of the lock.
        let arming = self.state.compare_exchange(ARMING, FIRED, AcqRel, Acquire);
        if arming.is_err()
            && let Some(inner) = self.inner.upgrade()
        {
            inner.on_timer();
        }
    }
}

impl Timer {
    /// Fires at the next event, instead of when it would have fired.
    ///
    /// In the runtime of the caller if there is one, else in the one it was in before.
    pub(crate) fn arm(&self, inner: &Inner) -> Arming {
        let here = Handle::try_current().ok().map(|handle| handle.id());
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if here.is_some() && here == state.timeless {
            return Arming::StillNoRuntime;
        }
        // Under the lock: of two that arm at the same time the second knows what the first knew.
        let Some(event) = inner.next_event() else {
            return Arming::Done;
        };
        let kept = state
            .armed
            .take()
            .filter(|armed| here.is_none() || armed.runtime == here);
        if kept.is_none() && here.is_none() {
            return Arming::NoRuntime;
        }
        let at = inner.instant(event).into();
        // Tokio panics when the runtime has no timers or is being shut down; a door has to go on
        // for those who wait elsewhere.
        let set = catch_unwind(AssertUnwindSafe(|| {
            let mut next = kept.unwrap_or_else(|| Armed {
                sleep: Box::pin(sleep_until(at)),
                runtime: here,
                fire: Arc::new(Fire {
                    inner: inner.this(),
                    state: AtomicU8::new(SET),
                }),
            });
            next.fire.state.store(ARMING, Release);
            next.sleep.as_mut().reset(at);
            let elapsed = next.sleep.is_elapsed() || {
                // Unconstrained: a task that has used up its budget must not be woken under the lock.
                Pin::new(&mut tokio::task::unconstrained(next.sleep.as_mut()))
                    .poll(&mut Context::from_waker(&Waker::from(Arc::clone(
                        &next.fire,
                    ))))
                    .is_ready()
            };
            let fired = next.fire.state.swap(SET, AcqRel) == FIRED;
            (next, elapsed, fired)
        }));
        match set {
            // Fired before its time: the runtime is being shut down.
            Ok((_, true, _)) if inner.now() < event => Arming::NoRuntime,
            Ok((next, elapsed, fired)) => {
                state.armed = Some(next);
                if elapsed || fired {
                    Arming::Due
                } else {
                    Arming::Done
                }
            }
            Err(_) => {
                state.timeless = here;
                Arming::NoRuntime
            }
        }
    }
}
