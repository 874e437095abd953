//! What a limit did during a run, and why.
//!
//! A [`Report`] hears every answer and every change of a law, every wait and every refusal at a door.
//! It keeps them in bounded memory, however long the run, and shows them as a [table](Report::table), a
//! [picture](Report::svg) and a [page](Report::html).
//!
//! ```
//! use std::time::{Duration, Instant};
//! use tidegate_control::Aimd;
//! use tidegate_core::{Controller, Observer, Outcome, Sample};
//! use tidegate_report::Report;
//!
//! # #[expect(clippy::disallowed_methods)]
//! # let start = Instant::now();
//! let report = Report::new();
//! let mut law = Aimd::new();
//! for request in 0..100 {
//!     let started = start + Duration::from_millis(100 * request);
//!     let latency = Duration::from_millis(80);
//!     let in_flight = law.setting().limit as usize;
//!     let sample = Sample {
//!         started,
//!         latency: Some(latency),
//!         in_flight_at_start: in_flight,
//!         in_flight,
//!         outcome: Outcome::Success,
//!         retry_after: None,
//!     };
//!     let now = started + latency;
//!     report.on_sample(now, &sample);
//!     if let Some(change) = law.on_sample(now, &sample) {
//!         report.on_change(now, &change);
//!     }
//! }
//! let table = report.table();
//! assert!(table.starts_with("100 answered in 9.90 s: 0.0 % failed;"));
//! assert!(table.contains("↑ 1 → 2"));
//! ```
//!
//! With a layer, [`Report::attach`] does the hearing: `let report = Report::attach(&handle);`. Without
//! a report a layer does nothing for one.

mod a_move;
mod counts;
mod gave_up;
mod history;
mod interval;
mod intervals;
mod limit;
mod moves;
mod paces;
mod page;
mod picture;
mod recorder;
mod refusals;
mod report;
mod runs;
mod span;
mod table;
mod text;
mod time;
mod words;

pub use report::Report;
