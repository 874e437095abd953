//! The examples of one file each, as programs: what they print, against the upstream that they bring.

mod axum_outbound;
mod clients;
mod dashboard;
mod exposition;
mod llm_batch;
mod metrics;
mod program;
mod service;
