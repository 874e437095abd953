//! What the lock protects.

use std::task::Waker;

use tidegate_core::Pace;

use crate::admission::Request;
use crate::cooldown::Cooldown;
use crate::granted::Granted;
use crate::leases::Leases;
use crate::meters::Meters;
use crate::primitives::Primitives;
use crate::ring::Ring;
use crate::times::{NEVER, Times};
use crate::waiter::Ticket;

/// Everything but the word and the bucket. Times are nanoseconds on the door's clock.
///
/// What a saturated limit touches comes first, on few cache lines.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Queue<P: Primitives> {
    /// Nothing but a limit is in play, others wait, and the time is kept: as of the last look at all
    /// of that, see [`is_calm`](Self::is_calm).
    pub(crate) calm: bool,
    /// Since it was last looked whether anybody has.
    pub(crate) entered: bool,
    pub(crate) closed: bool,
    pub(crate) max_queue: usize,
    /// [`NEVER`]: for ever.
    pub(crate) max_wait: u64,
    pub(crate) ring: Ring<P>,
    pub(crate) granted: Granted<P>,
    pub(crate) times: Times,
    /// Nobody enters before; 0 when there is no pause.
    pub(crate) pause_until: u64,
    /// Where a service asked for the pause, or for a part of it.
    pub(crate) cooldown: Cooldown,
    pub(crate) pace: Option<Pace>,
    /// Where there is more than one pace, or one that the bucket cannot keep: all of them.
    pub(crate) meters: Option<Box<Meters<P>>>,
    pub(crate) leases: Leases<P>,
    pub(crate) drainers: Vec<Waker>,
}

impl<P: Primitives> Queue<P> {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            calm: false,
            entered: false,
            closed: false,
            max_queue: usize::MAX,
            max_wait: NEVER,
            ring: Ring::default(),
            granted: Granted::default(),
            times: Times::default(),
            pause_until: 0,
            cooldown: Cooldown::seeded(seed),
            pace: None,
            meters: None,
            leases: Leases::default(),
            drainers: Vec::new(),
        }
    }

    /// Whether a request may enter without the lock.
    pub(crate) fn is_idle(&self) -> bool {
        self.ring.waiting() == 0
            && self.pause_until == 0
            && !self.cooldown.is_on()
            && !self.closed
            && self.meters.is_none()
            && self.drainers.is_empty()
    }

    /// Whether one that leaves may hand its place over, and one that comes stand behind the others,
    /// without a look at anything but the limit. Whatever changes that is followed by a look at it.
    /// During a pause nothing is taken for a stall.
    pub(crate) fn is_calm(&self) -> bool {
        self.ring.waiting() > 0
            && self.pace.is_none()
            && self.meters.is_none()
            && self.leases.is_empty()
            && self.times.tick != NEVER
            && self.times.stall != NEVER
    }

    /// One more at the end.
    #[inline]
    pub(crate) fn push(
        &mut self,
        request: &Request<'_>,
        deadline: u64,
        waker: Option<Waker>,
    ) -> Ticket<P> {
        let spare = self.granted.pop_spare();
        self.ring.push(spare, request, deadline, waker)
    }

    /// Lets in one that was the head.
    #[inline]
    pub(crate) fn grant(&mut self, head: Ticket<P>, tokens: bool, billed: bool) {
        self.entered = true;
        head.grant(tokens, billed);
        self.granted.push(head);
    }
}
