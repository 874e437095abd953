use http::Response;
use http_body::Body;

use crate::{Hook, HookedBody};

/// A response whose body can take a [`Hook`].
///
/// For `http::Response<B>` each hook is one more [`HookedBody`] around the last: no allocation, no
/// lock. The hook attached first is called first.
pub trait AttachHook<H> {
    /// The response with its hook.
    type Output;

    /// Has the hook called once: when the body ends, fails or is dropped.
    ///
    /// A response without a body (204, an answer to HEAD, an upgrade) has ended: the hook is called
    /// before this returns.
    fn attach_hook(self, hook: H) -> Self::Output;
}

impl<B: Body, H: Hook> AttachHook<H> for Response<B> {
    type Output = Response<HookedBody<B, H>>;

    fn attach_hook(self, hook: H) -> Self::Output {
        self.map(|body| HookedBody::new(body, hook))
    }
}
