//! What a recorder has after what happened at the layers.

#![expect(clippy::float_cmp, reason = "counts and times are exact here")]

mod doors;
mod keys;
mod rendered;
mod requests;
