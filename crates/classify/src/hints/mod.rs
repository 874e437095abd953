//! What servers say about their limits, in the headers (or trailers) of a response.

mod anthropic;
mod azure;
mod dimensions;
mod discord;
mod fields;
mod github;
mod google;
#[expect(clippy::module_inception, reason = "one type a file, named after it")]
mod hints;
mod ietf;
mod openai;
mod profile;
mod quota;
mod reddit;
mod remaining;
mod retry_after;
mod salesforce;
mod shopify;
mod sniff;
mod value;
mod wait;
mod x;

pub use hints::Hints;
pub use profile::Profile;
pub use quota::{Quota, Unit};
pub use remaining::Remaining;
pub use wait::Wait;

pub use retry_after::retry_after;
