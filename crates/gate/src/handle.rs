use std::ops::Deref;
use std::time::Duration;

use tidegate_admission::{Acquire, Door, Permit};
use tidegate_core::{Refused, Steer};

/// Watches and moves a gate while it runs, and lets through what is not a [`Service`].
///
/// It is a [`Door`]: everything that can be read or moved there can be here. A clone is the same
/// gate.
///
/// ```
/// use tidegate_core::Units;
/// use tidegate_gate::GateLayer;
///
/// let gate = GateLayer::for_throughput(2_000.0, 50.ms()).handle();
/// assert_eq!(gate.limit(), 100);
/// let permit = gate.acquire_blocking(None)?;
/// assert_eq!(gate.in_flight(), 1);
/// # Ok::<_, tidegate_core::Refused>(())
/// ```
///
/// [`Service`]: tower_service::Service
#[derive(Clone, Debug)]
pub struct GateHandle(Door);

impl GateHandle {
    pub(crate) fn new(door: Door) -> Self {
        Self(door)
    }

    /// A permit, when it is its turn.
    ///
    /// # Errors
    ///
    /// If it may not wait, waited too long, or the gate is closed.
    ///
    /// # Panics
    ///
    /// When polled outside of a tokio runtime with time enabled, if only time can let it in: with a
    /// pace, a pause or a longest wait.
    pub fn acquire(&self) -> Acquire {
        self.0.acquire(1)
    }

    /// A permit now, or not at all.
    ///
    /// # Errors
    ///
    /// If there is no room now, or the gate is closed.
    pub fn try_acquire(&self) -> Result<Permit, Refused> {
        self.0.try_acquire(1)
    }

    /// A permit for a thread: it parks until it is its turn, at most for `timeout`. Not for use in a
    /// task: it blocks the thread.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and if it was not its turn within `timeout`.
    pub fn acquire_blocking(&self, timeout: Option<Duration>) -> Result<Permit, Refused> {
        self.0.acquire_blocking(1, timeout)
    }
}

impl From<GateHandle> for Door {
    fn from(handle: GateHandle) -> Self {
        handle.0
    }
}

impl Deref for GateHandle {
    type Target = Door;

    fn deref(&self) -> &Door {
        &self.0
    }
}

/// So it is a [`Steer`].
impl AsRef<dyn Steer> for GateHandle {
    fn as_ref(&self) -> &(dyn Steer + 'static) {
        &self.0
    }
}
