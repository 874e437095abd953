//! What a service says about its limits, done at a [`Door`](tidegate_admission::Door).
//!
//! [`Law`] decides: what one response says goes in, what is to be done comes out. It reads no clock.
//! [`Listener`] is the shell around it that a layer tells of each response:
//! `GateLayer::hints` and `RateLayer::hints` have one each.
//!
//! ```
//! use http::{HeaderMap, HeaderValue, StatusCode};
//! use tidegate_admission::Door;
//! use tidegate_classify::Profile;
//! use tidegate_cooldown::Listener;
//!
//! let door = Door::new("gate", 10);
//! let listener = Listener::new(door.clone(), Profile::GitHub);
//! let mut headers = HeaderMap::new();
//! headers.insert("retry-after", HeaderValue::from_static("30"));
//! listener.hear(StatusCode::TOO_MANY_REQUESTS, &headers);
//! assert!(door.paused_until().is_some());
//! ```
//!
//! # What is done
//!
//! | a response | what follows |
//! |---|---|
//! | is throttled, or a 5xx, and asks for a wait | the door is paused for as long, counted from its reception |
//! | says that nothing remains of a quota, and when it is reset | the door is paused until then, before any 429; where a quota [fills evenly](tidegate_classify::Profile::fills_evenly), until there is enough for one request |
//! | says what remains of requests | no more than that are in flight until the reset |
//! | says how many requests there may be at one time | no more than that are in flight |
//! | says how many requests there may be in a window of at most a minute | they are spaced to that rate |
//! | is throttled and says nothing, again, with no success since | a pause of our own: 125 ms, and twice as long each time, up to a second |
//!
//! A pause is extended and never shortened. Whoever waits stays in the queue; when the pause ends, they
//! come back one by one. Who would have to wait longer than 60 s, or than it may, is refused at once, with
//! when to try again. See [`Door::cool_down_until`](tidegate_admission::Door::cool_down_until).
//!
//! Nothing that a service says makes anything faster than you set it.
//!
//! # Beside one that does not listen
//!
//! Of a quota that several share, who ignores refusals gets nearly all: it asks again within a round trip,
//! and so takes each token as it comes, while one that stays away as told finds none when it is back.
//! Nothing that a listener does politely changes that: to come back sooner is to ignore the hint, and how
//! long to stay away is all that the service said. What helps is on the other side, a quota for each
//! client; or one gate in front of all clients, where they stand in one queue.

mod law;
mod listener;
mod wish;

pub use law::Law;
pub use listener::Listener;
pub use wish::Wish;
