use http::Response;
use http_body::Body;

use crate::armed::Armed;
use crate::{Hook, HookedBody};

/// A response whose body can take a [`Hook`], and another, and another: the one attached first is
/// called first.
///
/// For `http::Response<B>` each hook is one more [`HookedBody`] around the last: no allocation, no
/// lock. With the feature `reqwest`, a `reqwest::Response` stays one: all its hooks share one list.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a response whose body can hold a permit",
    note = "for a response without a body, call `.hold_head()` on the layer",
    note = "for `reqwest::Response`, turn on the feature `reqwest`"
)]
pub trait AttachHook<H> {
    /// The response with its hook.
    type Output;

    /// Has the hook called once: when the body ends, fails or is dropped.
    ///
    /// A response that is known to have no body (204, an answer to HEAD, an upgrade) has ended: the
    /// hook is called before this returns.
    fn attach_hook(self, hook: H) -> Self::Output;
}

impl<B: Body, H: Hook> AttachHook<H> for Response<B> {
    type Output = Response<HookedBody<B, H>>;

    #[inline]
    fn attach_hook(self, hook: H) -> Self::Output {
        // An end that is known goes first: what the hook frees is free before the response moves.
        let hook = Armed::on(self.body(), hook);
        self.map(|body| HookedBody::armed(body, hook))
    }
}
