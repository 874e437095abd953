use tidegate_body::AttachHook;
use tidegate_classify::{Classify, ResponseHead};
use tidegate_core::Controller;
use tidegate_gate::{Hinted, HoldBody, HoldBodyMax, HoldHead};

use crate::Call;

/// Until when a response is watched, once its head is there: as long as its place is held.
pub trait Watch<R, K>: Clone {
    /// What the caller gets.
    type Response;

    /// Watches on, or not.
    fn watch(&self, response: R, call: K) -> Self::Response;
}

impl<R: AttachHook<K>, K> Watch<R, K> for HoldBody {
    type Response = R::Output;

    #[inline]
    fn watch(&self, response: R, call: K) -> R::Output {
        response.attach_hook(call)
    }
}

impl<R: AttachHook<K>, K> Watch<R, K> for HoldBodyMax {
    type Response = R::Output;

    fn watch(&self, response: R, call: K) -> R::Output {
        HoldBody.watch(response, call)
    }
}

impl<Req, R, C, L> Watch<R, Call<Req, R, C, L>> for HoldHead
where
    C: Classify<Req, R>,
    L: Controller,
{
    type Response = R;

    fn watch(&self, response: R, mut call: Call<Req, R, C, L>) -> R {
        call.end(None);
        response
    }
}

/// Hears it first.
impl<R: ResponseHead, K, H: Watch<R, K>> Watch<R, K> for Hinted<H> {
    type Response = H::Response;

    #[inline]
    fn watch(&self, response: R, call: K) -> H::Response {
        self.hear(&response);
        self.get_ref().watch(response, call)
    }
}
