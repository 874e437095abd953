//! The best that a fixed setting could do.

use tidegate_sim::{Metrics, Oracle, laws, run};

use crate::common::{closed, near, scenario};

const LOSS: &str = "rtt = \"10ms\"\nduration = \"20s\"";
const LOSS_SERVER: &str =
    "kind = \"fifo\"\nworkers = 4\nqueue = 0\nservice = { exponential = \"20ms\" }";

#[test]
fn an_oracle_does_not_depend_on_the_number_of_threads() {
    let scenario = closed(
        "rtt = \"1ms\"\nduration = \"20s\"",
        "kind = \"fifo\"\nworkers = 4\nservice = { exponential = \"20ms\" }",
        "",
    );
    assert_eq!(
        Oracle::sweep(&scenario, 1, 1),
        Oracle::sweep(&scenario, 1, 4)
    );
}

#[test]
fn an_oracle_finds_the_workers_and_what_they_can_do() {
    let scenario = closed(LOSS, LOSS_SERVER, "");
    let oracle = Oracle::sweep(&scenario, 1, 2);
    near(oracle.goodput, 4.0 / 0.030, 0.03);
    near(oracle.latency, 0.030, 0.03);
    assert_eq!(oracle.best, "limit 4.0");
}

#[test]
fn an_oracle_is_clairvoyant_about_steps() {
    let scenario = closed(
        "rtt = \"20ms\"\nduration = \"60s\"",
        "kind = \"fifo\"\nworkers = 40\nservice = \"20ms\"",
        "[[step]]\nat = \"20s\"\ncapacity = 0.5\n[[step]]\nat = \"40s\"\ncapacity = 0",
    );
    let oracle = Oracle::sweep(&scenario, 1, 2);
    assert_eq!(oracle.segments.len(), 3);
    near(oracle.segments[0], 2_000.0, 0.01);
    near(oracle.segments[1], 1_000.0, 0.01);
    assert!(oracle.segments[2] < 5.0);
    // 40 ms is a request that never waits: a limit that did not follow would queue in the second.
    near(oracle.latency, 0.040, 0.02);
}

#[test]
fn an_oracle_shares_its_limit_among_the_clients_that_are_there() {
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"60s\"\nclients = [\"0s\", \"30s\"]",
        "kind = \"fifo\"\nworkers = 8\nservice = \"20ms\"",
        "",
    );
    let oracle = Oracle::sweep(&scenario, 1, 2);
    near(oracle.goodput, 400.0, 0.01);
    near(oracle.latency, 0.020, 0.01);
}

#[test]
fn an_oracle_paces_a_rate_limit() {
    let scenario = closed(
        "rtt = \"20ms\"\nduration = \"60s\"",
        "kind = \"bucket\"\nrate = 50\nburst = 5\nservice = { exponential = \"30ms\" }",
        "",
    );
    let oracle = Oracle::sweep(&scenario, 1, 2);
    near(oracle.goodput, 50.0, 0.01);
    assert!(oracle.best.ends_with("/s"), "{}", oracle.best);
}

#[test]
fn a_law_that_does_what_the_oracle_does_scores_one() {
    let scenario = closed(LOSS, LOSS_SERVER, "");
    let oracle = Oracle::sweep(&scenario, 1, 2);
    let record = run(&scenario, 1, &|_| Box::new(laws::Fixed::new(4)));
    let metrics = Metrics::new(&scenario, &record, &oracle);
    near(metrics.score, 1.0, 1e-9);
    assert!(metrics.ramp.unwrap() < 1.5);
    assert_eq!(
        (metrics.recover, metrics.cv.to_bits()),
        (None, 0.0_f64.to_bits())
    );
}

#[test]
fn recovery_is_measured_from_each_step() {
    let scenario = closed(
        "rtt = \"10ms\"\nduration = \"90s\"",
        "kind = \"fifo\"\nworkers = 10\nservice = \"20ms\"",
        "[[step]]\nat = \"30s\"\ncapacity = 0\n[[step]]\nat = \"40s\"\ncapacity = 1\n[[step]]\nat = \"60s\"\ncapacity = 2",
    );
    let oracle = Oracle::sweep(&scenario, 1, 2);
    let record = run(&scenario, 1, &|_| Box::new(laws::Fixed::new(15)));
    let metrics = Metrics::new(&scenario, &record, &oracle);
    assert_eq!(
        metrics.recoveries[0], None,
        "an outage has nothing to reach"
    );
    assert!(metrics.recoveries[1].is_some_and(|seconds| seconds < 1.0));
    assert_eq!(metrics.recoveries[2], None, "15 are too few for 20 workers");
    assert_eq!(metrics.recover, None);
}

#[test]
fn failures_that_have_nothing_to_do_with_load_are_no_waste() {
    let scenario = scenario(
        "rtt = \"10ms\"\nduration = \"60s\"",
        "kind = \"fifo\"\nworkers = 10\nservice = \"20ms\"",
        "kind = \"closed\"",
        "[background]\nshare = 0.05\nstatus = 503",
    );
    let oracle = Oracle::sweep(&scenario, 1, 2);
    let record = run(&scenario, 1, &|_| Box::new(laws::Fixed::new(10)));
    assert!(record.waste() > 0.04);
    assert!(Metrics::new(&scenario, &record, &oracle).waste < 0.01);
}
