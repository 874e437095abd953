//! A tower [`Layer`](tower_layer::Layer) that keeps a layer for each key, such as a gate for each host,
//! in bounded memory.
//!
//! ```
//! use tidegate_core::per_second;
//! use tidegate_gate::GateLayer;
//! use tidegate_keyed::{KeySettings, KeyedLayer};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keyed = KeyedLayer::per_host(|_host| GateLayer::new(2).pace(per_second(1.0)).hold_head());
//! let handle = keyed.handle();
//!
//! let stack = ServiceBuilder::new().layer(keyed).service(service_fn(|_: http::Request<()>| async {
//!     Ok::<_, std::io::Error>(http::Response::new("hello"))
//! }));
//! for uri in ["http://a.example/1", "https://A.example./2", "http://b.example/"] {
//!     let request = http::Request::get(uri).body(())?;
//!     tokio::spawn(stack.clone().oneshot(request));
//! }
//! # tokio::task::yield_now().await;
//! assert_eq!(handle.len(), 2);
//! assert_eq!(handle.get("a.example").unwrap().waiting(), 1);
//! handle.set("a.example", KeySettings::new().pace(per_second(10.0)));
//! # Ok(())
//! # }
//! ```
//!
//! # What is kept
//!
//! The layer: its state is what a key has. The service of a request is made for that request alone,
//! around a clone of the service below, and nobody else holds it. So a layer is needed whose state
//! is its own, as that of all of ours is; see [`ByIdle`] for others.
//!
//! To find the layer of a key takes one short lock of one of 64 parts of the table.
//!
//! # What is forgotten
//!
//! What nobody would miss: a [`Keyable`] layer that is as one that is made
//! now, its bucket full, nothing waiting, in flight or paused. What a law has learned is forgotten
//! once the key has been idle for [some time](KeyedLayer::forget_after). A debt, a pause, a request
//! that waits, a body that is being read, a handle of the key that somebody holds: all of them keep
//! it, whatever the memory. Past [`max_keys`](KeyedLayer::max_keys) new keys share one layer.
//!
//! No task does that: each new key, and every 512th request of a part of the table, looks at a few
//! keys, and at more of them as long as half of those go. Where requests are rare and much can go, every
//! 16th looks at up to 128: about a tenth of a millisecond, and a tenth of the time at most. What is
//! fresh goes when it has not been used for a second or two.
//!
//! Keys are hashed by SipHash with a seed that each set draws for itself, so that whoever chooses keys
//! cannot choose them to meet.
//!
//! # Several scopes
//!
//! As layers, from narrow to wide: a tenant's outside of a host's, that outside of one gate for all.
//! A request is charged by each in that order when it passes, and what it took from the narrow ones
//! is given back where a wider one refuses it, or where its caller leaves while a wider one lets it
//! wait. Until then it holds its place in the narrow ones: what they let pass while a wider one stalls
//! starts at once when that goes on, so that a narrow one with a pace wants a limit too.
//!
//! ```
//! use tidegate_core::per_minute;
//! use tidegate_gate::GateLayer;
//! use tidegate_keyed::KeyedLayer;
//! use tower::ServiceBuilder;
//!
//! let tenant = |request: &http::Request<()>| {
//!     let tenant = request.headers().get("x-tenant");
//!     tenant.and_then(|tenant| tenant.to_str().ok()).unwrap_or("nobody").to_owned()
//! };
//! let stack = ServiceBuilder::new()
//!     .layer(KeyedLayer::new(tenant, |_| GateLayer::new(2).pace(per_minute(60.0))))
//!     .layer(KeyedLayer::per_host(|_| GateLayer::new(8)))
//!     .layer(GateLayer::new(100).max_queue(1_000))
//!     .service(()); // a client
//! # drop(stack);
//! ```
//!
//! A refusal says whose it was: [`Refused::key`](tidegate_core::Refused::key) is the key of the layer
//! that refused, and none where that is not one of a key.
//!
//! # Redirects
//!
//! A client that follows redirects by itself sends several requests, to several hosts, for one that
//! passed this layer. To have each counted, and by its own host, turn that off in the client and put
//! tower-http's `FollowRedirect` above this layer.

mod below;
mod by_idle;
mod cleaning;
#[cfg(feature = "serde")]
mod config;
mod destination;
mod entry;
mod handle;
mod key;
mod key_handle;
mod key_text;
mod layer;
mod per_host;
mod response_future;
mod service;
mod settings;
mod shard;
mod steering;
mod table;

pub use below::{Below, BelowFuture};
pub use by_idle::ByIdle;
#[cfg(feature = "serde")]
pub use config::ConfigError;
pub use destination::Destination;
pub use handle::KeyedHandle;
pub use key::Key;
pub use key_handle::KeyHandle;
pub use layer::KeyedLayer;
pub use per_host::PerHost;
pub use response_future::ResponseFuture;
pub use service::Keyed;
pub use settings::{KeySettings, Settings};
pub use tidegate_core::{Freshness, Keyable};
