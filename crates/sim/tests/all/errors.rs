//! Files that are wrong: each error says line, key and what was expected.

use tidegate_sim::Scenario;

/// The first line is 1; `server` begins on line 4.
fn error(top: &str, server: &str, rest: &str) -> String {
    let text = format!("id = \"x\"\nrtt = \"1ms\"\n{top}\n[server]\n{server}\n{rest}");
    let error = Scenario::from_toml(&text).expect_err(&text);
    error.file("x.toml").to_string()
}

const FIFO: &str = "kind = \"fifo\"\nworkers = 1\nservice = \"1ms\"";
const CLOSED: &str = "[load]\nkind = \"closed\"";
const MINUTE: &str = "duration = \"1m\"";

#[test]
fn a_duration_without_a_unit_is_refused() {
    let error = error("duration = 60", FIFO, CLOSED);
    assert!(error.starts_with("x.toml:3: duration: "), "{error}");
    assert!(error.ends_with("such as \"20ms\""), "{error}");
}

#[test]
fn an_unknown_key_is_named_beside_those_that_there_are() {
    let error = error("duration = \"1s\"", &format!("{FIFO}\nworker = 2"), CLOSED);
    assert!(
        error.starts_with("x.toml:8: server.worker: unknown field"),
        "{error}"
    );
    assert!(error.contains("`workers`"), "{error}");
}

#[test]
fn a_key_of_another_kind_is_refused() {
    let error = error("duration = \"1s\"", &format!("{FIFO}\nrate = 2"), CLOSED);
    let expected = "x.toml:8: server.rate: expected no `rate`: a server of kind \"fifo\" has none";
    assert_eq!(error, expected);
}

#[test]
fn a_key_that_a_kind_needs_is_asked_for() {
    let server = "kind = \"usl\"\nalpha = 0.1\nservice = \"1ms\"";
    let error = error("duration = \"1s\"", server, CLOSED);
    let expected = "x.toml:4: server: expected `beta`, which a server of kind \"usl\" needs";
    assert_eq!(error, expected);
}

#[test]
fn numbers_out_of_range_are_refused_where_they_stand() {
    for (server, expected) in [
        (
            "kind = \"fifo\"\nworkers = 0\nservice = \"1ms\"",
            "x.toml:6: server.workers: expected at least 1, not 0",
        ),
        (
            "kind = \"bucket\"\nrate = -2\nburst = 1\nservice = \"1ms\"",
            "x.toml:6: server.rate: expected a number above 0, not -2",
        ),
        (
            "kind = \"bucket\"\nrate = 2\nburst = 0.5\nservice = \"1ms\"",
            "x.toml:7: server.burst: expected a number from 1 on, not 0.5",
        ),
        (
            "kind = \"ps\"\ncapacity = 0\nservice = \"1ms\"",
            "x.toml:6: server.capacity: expected a number above 0, not 0",
        ),
        (
            "kind = \"window\"\nlimit = 2\nper = \"0s\"\nservice = \"1ms\"",
            "x.toml:7: server.per: expected a duration above zero",
        ),
        (
            "kind = \"fifo\"\nworkers = 1\nservice = \"0s\"",
            "x.toml:7: server.service: expected a mean above zero",
        ),
        (
            "kind = \"fifo\"\nworkers = 1\nreject = 200\nservice = \"1s\"",
            "x.toml:7: server.reject: expected an HTTP status from 400 to 599, not 200",
        ),
    ] {
        assert_eq!(error("duration = \"1s\"", server, CLOSED), expected);
    }
}

#[test]
fn distributions_without_a_mean_are_refused() {
    for (service, expected) in [
        (
            "{ pareto = { mean = \"1ms\", alpha = 1 } }",
            "expected an alpha above 1",
        ),
        (
            "{ lognormal = { mean = \"0s\", cv = 1 } }",
            "expected a mean above zero",
        ),
        (
            "{ bimodal = { slow_share = 2, fast = \"1s\", slow = \"2s\" } }",
            "expected a slow_share from 0 to 1",
        ),
        ("{ exponentiel = \"1ms\" }", "unknown variant `exponentiel`"),
    ] {
        let server = format!("kind = \"fifo\"\nworkers = 1\nservice = {service}");
        let error = error("duration = \"1s\"", &server, CLOSED);
        assert!(error.starts_with("x.toml:7: server.service"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn loads_steps_and_backgrounds_are_checked_too() {
    for (rest, expected) in [
        (
            "[load]\nkind = \"open\"",
            "x.toml:8: load: expected `rate`, which a load of kind \"open\" needs",
        ),
        (
            "[load]\nkind = \"batch\"\nrequests = 0",
            "x.toml:10: load.requests: expected at least 1, not 0",
        ),
        (
            "[load]\nkind = \"closed\"\n[[step]]\nat = \"1s\"",
            "x.toml:10: step: expected a `capacity` or an `rtt`",
        ),
        (
            "[load]\nkind = \"closed\"\n[[step]]\nat = \"1s\"\ncapacity = -1",
            "x.toml:12: step.capacity: expected a number of at least 0, not -1",
        ),
        (
            "[load]\nkind = \"closed\"\n[background]\nshare = 1\nstatus = 503",
            "x.toml:11: background.share: expected a share from 0 to below 1, not 1",
        ),
    ] {
        assert_eq!(error("duration = \"1s\"", FIFO, rest), expected);
    }
}

#[test]
fn what_is_missing_at_the_top_has_no_key() {
    let error = error(MINUTE, FIFO, "");
    assert!(error.contains("invalid value: string \"1m\""), "{error}");
    let error = Scenario::from_toml("id = \"x\"").unwrap_err().to_string();
    assert_eq!(error, "scenario:1: missing field `rtt`");
}

#[test]
fn broken_toml_says_where() {
    let error = error("duration = \"1s\"", "kind = ", CLOSED);
    assert!(error.starts_with("x.toml:5: "), "{error}");
}

#[test]
fn only_a_batch_ends_by_itself() {
    let error = error("", FIFO, CLOSED);
    assert!(
        error.starts_with("x.toml:8: load: expected a `duration`"),
        "{error}"
    );
}
