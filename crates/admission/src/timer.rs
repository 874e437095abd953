//! One timer for a whole queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use tokio::runtime::{Handle, Id};
use tokio::time::{Sleep, sleep_until};

use crate::door::Inner;

/// A tokio timer that, when it fires, runs [`Inner::on_timer`] on the thread that fires it: so it
/// does not matter whether the future that armed it is still polled.
#[derive(Debug, Default)]
pub(crate) struct Timer(Mutex<Option<Armed>>);

#[derive(Debug)]
struct Armed {
    sleep: Pin<Box<Sleep>>,
    runtime: Option<Id>,
    fire: Waker,
}

/// Armed for a time that has passed, or not armed at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arming {
    Done,
    /// The time has passed already.
    Due,
    /// There is no runtime here, or none that lives.
    NoRuntime,
}

struct Fire(Weak<Inner>);

impl Wake for Fire {
    fn wake(self: Arc<Self>) {
        if let Some(inner) = self.0.upgrade() {
            inner.on_timer();
        }
    }
}

impl Timer {
    /// Fires at `at`, instead of when it would have fired.
    ///
    /// In the runtime of the caller if there is one, else in the one it was in before.
    pub(crate) fn arm(&self, at: Instant, inner: &Weak<Inner>) -> Arming {
        let here = Handle::try_current().ok().map(|handle| handle.id());
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = armed
            .take()
            .filter(|armed| here.is_none() || armed.runtime == here);
        if kept.is_none() && here.is_none() {
            return Arming::NoRuntime;
        }
        // Tokio panics when the runtime is being shut down or has no timers; a door has to go on
        // for those who wait elsewhere.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let mut next = match kept {
                Some(mut kept) => {
                    kept.sleep.as_mut().reset(at.into());
                    kept
                }
                None => Armed {
                    sleep: Box::pin(sleep_until(at.into())),
                    runtime: here,
                    fire: Waker::from(Arc::new(Fire(Weak::clone(inner)))),
                },
            };
            // Unconstrained: a task that has used up its budget must not be woken under the lock.
            let sleep = Pin::new(&mut tokio::task::unconstrained(next.sleep.as_mut()))
                .poll(&mut Context::from_waker(&next.fire));
            (next, sleep.is_ready())
        }));
        match polled {
            Ok((next, due)) => {
                *armed = Some(next);
                if due { Arming::Due } else { Arming::Done }
            }
            Err(_) => Arming::NoRuntime,
        }
    }
}
