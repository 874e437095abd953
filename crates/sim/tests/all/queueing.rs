//! Against the formulas of queueing theory.

use crate::common::{closed, fixed, near, scenario};

/// The probability that an arrival waits, in M/M/c with `load` = λ/μ.
fn erlang_c(workers: u32, load: f64) -> f64 {
    let mut blocked = 1.0;
    for k in 1..=workers {
        blocked = load * blocked / (f64::from(k) + load * blocked);
    }
    let busy = load / f64::from(workers);
    blocked / (1.0 - busy + busy * blocked)
}

#[test]
fn an_open_fifo_waits_as_erlang_c_says() {
    let scenario = scenario(
        "rtt = \"2ms\"\nduration = \"2000s\"",
        "kind = \"fifo\"\nworkers = 4\nservice = { exponential = \"20ms\" }",
        "kind = \"open\"\nrate = [{ from = \"0s\", per_second = 160 }]",
        "",
    );
    let record = fixed(&scenario, 5_000);
    near(record.goodput(), 160.0, 0.01);
    let wait = erlang_c(4, 3.2) / (4.0 * 50.0 - 160.0);
    near(record.latency(), 0.002 + 0.020 + wait, 0.03);
}

#[test]
fn a_closed_fifo_is_as_fast_as_its_workers() {
    let scenario = closed(
        "rtt = \"5ms\"\nduration = \"200s\"",
        "kind = \"fifo\"\nworkers = 16\nservice = { exponential = \"20ms\" }",
        "",
    );
    let record = fixed(&scenario, 40);
    near(record.goodput(), 800.0, 0.01);
    // Little's law: all 40 are either on the way or in the server.
    near(record.latency(), 40.0 / 800.0, 0.01);
}

#[test]
fn processor_sharing_does_not_care_how_work_is_spread() {
    for service in [
        "{ exponential = \"10ms\" }",
        "{ lognormal = { mean = \"10ms\", cv = 1.5 } }",
        "\"10ms\"",
    ] {
        let scenario = scenario(
            "rtt = \"0s\"\nduration = \"2000s\"",
            &format!("kind = \"ps\"\ncapacity = 1\nservice = {service}"),
            "kind = \"open\"\nrate = [{ from = \"0s\", per_second = 60 }]",
            "",
        );
        let record = fixed(&scenario, 5_000);
        near(record.latency(), 1.0 / (100.0 - 60.0), 0.04);
    }
}

#[test]
fn processor_sharing_runs_at_full_speed_up_to_its_capacity() {
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"50s\"",
        "kind = \"ps\"\ncapacity = 8\nservice = { exponential = \"20ms\" }",
        "",
    );
    near(fixed(&scenario, 4).goodput(), 4.0 / 0.020, 0.02);
    near(fixed(&scenario, 32).goodput(), 8.0 / 0.020, 0.02);
}

#[test]
fn usl_throughput_is_gunthers_formula() {
    let (alpha, beta) = (0.02, 0.0005);
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"50s\"",
        &format!(
            "kind = \"usl\"\nalpha = {alpha}\nbeta = {beta}\nservice = {{ exponential = \"10ms\" }}"
        ),
        "",
    );
    for limit in [1, 10, 44, 150] {
        let n = f64::from(limit);
        let expected = n / (0.010 * (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0)));
        near(fixed(&scenario, limit).goodput(), expected, 0.02);
    }
}
