//! The same for clients that block: each try is a thread's.
//!
//! ```
//! use tidegate_batch::blocking::Batch;
//!
//! let summary = Batch::new(["1", "2", "three"])
//!     .window(2)
//!     .each(|index, text| text.parse::<u32>().map(|number| println!("{index}: {number}")))
//!     .run();
//! assert_eq!((summary.counts.succeeded, summary.counts.failed), (2, 1));
//! ```
//!
//! There is no stack: the closure is given the request, and sends it. Where a gate limits what is in
//! flight, the closure takes its permit (`gate.acquire_blocking(None)?`), and the threads follow its
//! limit when the batch is [steered](Batch::steer) by it.

mod batch;
mod each;
mod run;

pub use batch::Batch;
pub use each::Each;
