use tidegate_admission::{LeasedPlace, Place};
use tidegate_body::AttachHook;
use tidegate_classify::{Classify, ResponseHead};
use tidegate_core::Controller;
use tidegate_gate::{Held, Hinted, HoldBody, HoldBodyMax, HoldHead};

use crate::Call;

/// Until when a response is watched, once its head is there, and its place held where it has one.
///
/// One hook for both: a response that carries two is moved once more.
pub trait Watch<R, K, P = ()>: Clone {
    /// What the caller gets.
    type Response;

    /// Watches on, or not. The sample is taken before the place is free.
    fn watch(&self, response: R, call: K, place: P) -> Self::Response;
}

impl<R: AttachHook<K>, K> Watch<R, K> for HoldBody {
    type Response = R::Output;

    #[inline]
    fn watch(&self, response: R, call: K, (): ()) -> R::Output {
        response.attach_hook(call)
    }
}

impl<R: AttachHook<(K, Held<Place>)>, K> Watch<R, K, Place> for HoldBody {
    type Response = R::Output;

    #[inline]
    fn watch(&self, response: R, call: K, place: Place) -> R::Output {
        response.attach_hook((call, Held::new(place)))
    }
}

impl<R: AttachHook<(K, Held<LeasedPlace>)>, K> Watch<R, K, Place> for HoldBodyMax {
    type Response = R::Output;

    fn watch(&self, response: R, call: K, place: Place) -> R::Output {
        response.attach_hook((call, Held::new(self.lease(place))))
    }
}

impl<Req, R, C, L, P> Watch<R, Call<Req, R, C, L>, P> for HoldHead
where
    C: Classify<Req, R>,
    L: Controller,
{
    type Response = R;

    #[inline]
    fn watch(&self, response: R, mut call: Call<Req, R, C, L>, _place: P) -> R {
        call.end(None);
        response
    }
}

/// Hears it first.
impl<R: ResponseHead, K, P, H: Watch<R, K, P>> Watch<R, K, P> for Hinted<H> {
    type Response = H::Response;

    #[inline]
    fn watch(&self, response: R, call: K, place: P) -> H::Response {
        self.hear(&response);
        self.get_ref().watch(response, call, place)
    }
}
