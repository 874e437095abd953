//! The simulator against formulas, against its own words, and against the study it reproduces.

mod cases;
mod clients;
mod command;
mod common;
mod errors;
mod fidelity;
mod oracle;
mod queueing;
mod refusals;
mod steps;
