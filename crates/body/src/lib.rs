//! A response body that tells when it has ended.
//!
//! A response is not over when its head arrives: the upstream is busy until the body has been
//! sent. [`attach_hook`](AttachHook::attach_hook) puts a [`Hook`] on the body of a response, which
//! is called once: when the body ends, fails or is dropped.
//!
//! ```
//! use http::Response;
//! use tidegate_body::{AttachHook, End};
//!
//! let response = Response::new(String::from("a body that nobody reads"));
//! let response = response.attach_hook(|end: End<'_>| assert!(matches!(end, End::Dropped)));
//! drop(response);
//! ```
//!
//! The feature `reqwest` does the same for `reqwest::Response`.

mod armed;
mod attach_hook;
mod end;
mod hook;
mod hooked_body;
#[cfg(feature = "reqwest")]
mod shared_hooks;

pub use attach_hook::AttachHook;
pub use end::End;
pub use hook::Hook;
pub use hooked_body::HookedBody;
