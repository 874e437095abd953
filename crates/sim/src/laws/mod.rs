//! Laws by name: the shipped ones, and known ones to compare them with.
//!
//! The known ones are written from their published formulas, with their published defaults. Where a
//! law has a greatest limit it is 5,000 here, as for every law in a run.

mod catalogue;
mod cubic;
mod fixed;
mod governor;
mod gradient2;
mod netflix_aimd;
mod seed_aimd;
mod seed_pid;
mod tally;
mod tower_resilience_aimd;
mod vector_arc;
mod vegas;

#[cfg(test)]
mod feed;

pub use catalogue::{LawError, Maker, NAMES, by_name};
pub use cubic::Cubic;
pub use fixed::Fixed;
pub use gradient2::Gradient2;
pub use netflix_aimd::NetflixAimd;
pub use seed_aimd::SeedAimd;
pub use seed_pid::SeedPid;
pub use tower_resilience_aimd::TowerResilienceAimd;
pub use vector_arc::VectorArc;
pub use vegas::Vegas;

use tidegate_core::{Change, Reason, Setting};

/// The greatest limit, as a law's own setting.
const MOST: f64 = crate::engine::MAX_LIMIT as f64;

/// The change from one limit to another, if that is one.
fn change(from: f64, to: f64, why: &'static str) -> Option<Change> {
    (from.to_bits() != to.to_bits()).then(|| Change {
        from: Setting::limit(from),
        to: Setting::limit(to),
        reason: Reason::Other(why),
    })
}
