//! The examples of one file each, as programs: what they print, against the upstream that they bring.

#[path = "../support/program.rs"]
mod program;

mod axum_outbound;
mod clients;
mod dashboard;
mod exposition;
mod llm_batch;
mod metrics;
mod service;

use crate::program::program;

/// What it prints, when it has ended well.
fn output(example: &str, arguments: &[&str]) -> String {
    let output = program(example).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8(output.stdout).unwrap()
}
