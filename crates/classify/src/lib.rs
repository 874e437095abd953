//! What a response or an error says about the service that sent it.
//!
//! A limit can only follow what it understands: `Ok` with a status of 429 is no success, and an
//! error that is our own is not the service's fault. A [`Classify`] turns what a service answered
//! into an [`Outcome`](tidegate_core::Outcome), and says how long the service asked us to stay away.
//!
//! [`HttpClassifier`] knows statuses and can be told what an API means by them, [`GrpcClassifier`]
//! knows the codes of gRPC, a closure says it all in one place, and with the feature `tower-http`
//! `FromTowerHttp` takes a classifier that is there already. [`errors`] is what all of them hold of
//! an error, and tells whether the service did nothing for certain. [`Hints`] are all that the
//! headers say about the service's limits.

mod classify;
pub mod errors;
#[cfg(feature = "tower-http")]
mod from_tower_http;
mod grpc_classifier;
mod head;
mod hints;
mod http_classifier;
mod methods;
mod peeked;
mod route;
mod rule;
mod statuses;
mod table;
mod verdict;

pub use classify::{Answer, Classify, When};
#[cfg(feature = "tower-http")]
pub use from_tower_http::FromTowerHttp;
pub use grpc_classifier::GrpcClassifier;
pub use head::{RequestHead, ResponseHead};
pub use hints::{Hints, Profile, Quota, Remaining, Unit, Wait, retry_after};
pub use http_classifier::HttpClassifier;
pub use methods::{METHODS, method_index};
pub use peeked::Peeked;
pub use route::Route;
pub use statuses::Statuses;
pub use verdict::Verdict;
