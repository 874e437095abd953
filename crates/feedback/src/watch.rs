use tidegate_body::AttachHook;
use tidegate_classify::Classify;
use tidegate_core::Controller;

use crate::Call;

/// Until when a response is watched, once its head is there.
pub trait Watch<R, K>: Clone {
    /// What the caller gets.
    type Response;

    /// Watches on, or not.
    fn watch(&self, response: R, call: K) -> Self::Response;
}

/// Until its body ends, fails or is dropped. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchBody;

/// Its head alone: the form for services whose response has no body.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchHead;

impl<R: AttachHook<K>, K> Watch<R, K> for WatchBody {
    type Response = R::Output;

    #[inline]
    fn watch(&self, response: R, call: K) -> R::Output {
        response.attach_hook(call)
    }
}

impl<Req, R, C, L> Watch<R, Call<Req, R, C, L>> for WatchHead
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
