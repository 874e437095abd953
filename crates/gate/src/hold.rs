use std::time::Duration;

use tidegate_admission::{LeasedPlace, Place};
use tidegate_body::{AttachHook, End, Hook};

/// Until when the place of a request is held, once the head of the response `R` is there.
pub trait Hold<R>: Clone {
    /// What the caller gets.
    type Response;

    /// Holds the place, or lets go of it.
    fn hold(&self, response: R, place: Place) -> Self::Response;
}

/// Until the body ends, fails or is dropped. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldBody;

/// The same, but not for longer than this.
#[derive(Clone, Copy, Debug)]
pub struct HoldBodyMax(Duration);

impl HoldBodyMax {
    /// No longer than `longest` from the head on.
    pub fn new(longest: Duration) -> Self {
        Self(longest)
    }

    /// From now on.
    pub fn lease(&self, place: Place) -> LeasedPlace {
        place.expire_after(self.0)
    }
}

/// Until the head of the response is there: tower's meaning, and the form for services whose
/// response has no body.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldHead;

/// A place as the hook of a body.
#[derive(Debug)]
pub struct Held<P>(P);

impl<P: AsRef<Place>> Held<P> {
    /// Until that body has ended.
    #[inline]
    pub fn new(place: P) -> Self {
        Self(place)
    }
}

impl<R> Hold<R> for HoldHead {
    type Response = R;

    #[inline]
    fn hold(&self, response: R, _place: Place) -> R {
        response
    }
}

impl<R: AttachHook<Held<Place>>> Hold<R> for HoldBody {
    type Response = R::Output;

    #[inline]
    fn hold(&self, response: R, place: Place) -> R::Output {
        response.attach_hook(Held(place))
    }
}

impl<R: AttachHook<Held<LeasedPlace>>> Hold<R> for HoldBodyMax {
    type Response = R::Output;

    fn hold(&self, response: R, place: Place) -> R::Output {
        response.attach_hook(Held(self.lease(place)))
    }
}

impl<P: AsRef<Place>> Hook for Held<P> {
    fn on_open(&mut self) {
        self.0.as_ref().body_opened();
    }

    #[inline]
    fn on_poll(&mut self) {
        self.0.as_ref().body_polled();
    }

    #[inline]
    fn on_no_body(self) {}

    #[inline]
    fn on_end(self, _end: End<'_>) {
        self.0.as_ref().body_ended();
    }
}
