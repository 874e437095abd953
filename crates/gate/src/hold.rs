use std::time::Duration;

use tidegate_admission::{LeasedPermit, Permit};
use tidegate_body::{AttachHook, End, Hook};

/// Until when a permit is held, once the head of the response `R` is there.
pub trait Hold<R>: Clone {
    /// What the caller gets.
    type Response;

    /// Holds the permit, or lets go of it.
    fn hold(&self, response: R, permit: Permit) -> Self::Response;
}

/// Until the body ends, fails or is dropped. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldBody;

/// The same, but not for longer than this.
#[derive(Clone, Copy, Debug)]
pub struct HoldBodyMax(pub(crate) Duration);

/// Until the head of the response is there: tower's meaning, and the form for services whose
/// response has no body.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldHead;

/// A permit as the hook of a body.
#[derive(Debug)]
pub struct Held<P>(P);

impl<R> Hold<R> for HoldHead {
    type Response = R;

    #[inline]
    fn hold(&self, response: R, _permit: Permit) -> R {
        response
    }
}

impl<R: AttachHook<Held<Permit>>> Hold<R> for HoldBody {
    type Response = R::Output;

    #[inline]
    fn hold(&self, response: R, permit: Permit) -> R::Output {
        response.attach_hook(Held(permit))
    }
}

impl<R: AttachHook<Held<LeasedPermit>>> Hold<R> for HoldBodyMax {
    type Response = R::Output;

    fn hold(&self, response: R, permit: Permit) -> R::Output {
        response.attach_hook(Held(permit.expire_after(self.0)))
    }
}

impl Hook for Held<Permit> {
    fn on_open(&mut self) {
        self.0.hold_by_body();
    }

    #[inline]
    fn on_poll(&mut self) {
        self.0.body_polled();
    }

    #[inline]
    fn on_end(self, _end: End<'_>) {}
}

impl Hook for Held<LeasedPermit> {
    fn on_open(&mut self) {
        self.0.hold_by_body();
    }

    #[inline]
    fn on_poll(&mut self) {
        self.0.body_polled();
    }

    #[inline]
    fn on_end(self, _end: End<'_>) {}
}
