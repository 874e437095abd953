//! What a client does, and what its law is told.

use std::sync::Mutex;
use std::time::Duration;

use crate::common::{Told, closed, fixed, near, samples, scenario, told};
use tidegate_core::{Cause, Controller, Outcome, Setting};
use tidegate_sim::{Seat, laws, run};

const ONE_WORKER: &str = "kind = \"fifo\"\nworkers = 1\nservice = \"100ms\"";

#[test]
fn a_freed_permit_is_used_at_once_and_told() {
    let scenario = closed("rtt = \"20ms\"\nduration = \"300ms\"", ONE_WORKER, "");
    let told = told(&scenario, Setting::limit(1.0));
    let starts = told.iter().filter_map(|told| match told {
        Told::Start { at, in_flight } => Some((at / 1_000_000, *in_flight)),
        Told::Sample { .. } => None,
    });
    assert_eq!(starts.collect::<Vec<_>>(), [(0, 1), (120, 1), (240, 1)]);
    let samples = samples(&told);
    assert_eq!(samples.len(), 2);
    assert_eq!(samples[1].0, 240);
    assert_eq!(samples[1].1.latency, Some(Duration::from_millis(120)));
}

#[test]
fn a_timeout_frees_the_permit_while_the_server_goes_on() {
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"2s\"\ntimeout = \"250ms\"",
        ONE_WORKER,
        "",
    );
    let told = samples(&told(&scenario, Setting::limit(4.0)));
    // Two in time, at 100 and 200 ms; the other two wait for 250 ms and are worked on for nothing.
    let late = told.iter().find(|(_, sample)| !sample.outcome.is_success());
    let (at, late) = late.unwrap();
    assert_eq!(*at, 250);
    assert_eq!(late.outcome, Outcome::Overload(Cause::TimedOut));
    assert_eq!(late.latency, Some(Duration::from_millis(250)));
    // Four permits ask for 16 a second and more, the server does 10: soon all of them are late.
    let (good, bad) = told
        .iter()
        .partition::<Vec<_>, _>(|(_, s)| s.outcome.is_success());
    assert!(good.iter().all(|(at, _)| *at <= 500), "{good:?}");
    assert!(bad.len() > 20);
}

#[test]
fn nothing_times_out_below_the_timeout() {
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"20s\"\ntimeout = \"250ms\"",
        ONE_WORKER,
        "",
    );
    let record = fixed(&scenario, 2);
    assert_eq!((record.successes, record.overloads), (199, 0));
}

#[test]
fn a_pause_holds_every_send() {
    let scenario = closed("rtt = \"0s\"\nduration = \"1s\"", ONE_WORKER, "");
    let first = Mutex::new(None);
    let maker = |seat: &Seat| -> Box<dyn Controller> {
        let notes = crate::common::Notes::default();
        *first.lock().unwrap() = Some(notes.clone());
        let setting = Setting {
            pause_until: Some(seat.now + Duration::from_millis(700)),
            ..Setting::limit(5.0)
        };
        Box::new(crate::common::Spy::new(seat, setting, &notes))
    };
    run(&scenario, 1, &maker);
    let notes = first.lock().unwrap().take().unwrap();
    let told = notes.lock().unwrap();
    assert_eq!(
        told[0],
        Told::Start {
            at: 700_000_000,
            in_flight: 1
        }
    );
}

#[test]
fn a_client_joins_when_its_time_comes() {
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"10s\"\nclients = [\"0s\", \"5s\"]",
        ONE_WORKER,
        "",
    );
    let seats = Mutex::new(Vec::new());
    run(&scenario, 7, &|seat| {
        seats
            .lock()
            .unwrap()
            .push((seat.client, seat.seed, seat.phase));
        Box::new(laws::Fixed::new(1))
    });
    let expected = [(0, 7, Duration::ZERO), (1, 7, Duration::from_secs(5))];
    assert_eq!(*seats.lock().unwrap(), expected);
}

#[test]
fn two_clients_with_one_limit_share_evenly() {
    let scenario = closed(
        "rtt = \"1ms\"\nduration = \"60s\"\nclients = [\"0s\", \"0s\"]",
        "kind = \"fifo\"\nworkers = 4\nservice = { exponential = \"10ms\" }",
        "",
    );
    let shares = fixed(&scenario, 10).series.shares_since(0);
    near(f64::from(shares[0]) / f64::from(shares[1]), 1.0, 0.02);
}

#[test]
fn a_batch_ends_when_all_have_succeeded() {
    let scenario = scenario(
        "rtt = \"0s\"",
        "kind = \"fifo\"\nworkers = 2\nqueue = 0\nservice = \"100ms\"",
        "kind = \"batch\"\nrequests = 20",
        "[background]\nshare = 0.3\nstatus = 503",
    );
    let record = fixed(&scenario, 2);
    assert_eq!(record.successes, 20);
    assert!(record.overloads > 0);
    assert!(record.elapsed >= Duration::from_secs(1));
    assert!(record.elapsed < Duration::from_secs(2));
}

#[test]
fn a_batch_gives_up_after_four_hundred_seconds() {
    let scenario = scenario(
        "rtt = \"0s\"",
        ONE_WORKER,
        "kind = \"batch\"\nrequests = 5000",
        "",
    );
    let record = fixed(&scenario, 1);
    assert_eq!(record.elapsed, Duration::from_secs(400));
    assert_eq!(record.successes, 3_999);
}

#[test]
fn an_open_request_is_as_old_as_its_wait() {
    let scenario = scenario(
        "rtt = \"0s\"\nduration = \"10s\"",
        ONE_WORKER,
        "kind = \"open\"\nrate = []\ndumps = [{ at = \"1s\", requests = 4 }, { at = \"9950ms\", requests = 1 }]",
        "",
    );
    let record = fixed(&scenario, 1);
    // 100, 200, 300, 400 ms, and one that is 50 ms old at the end.
    assert_eq!((record.successes, record.latency_count), (4, 5));
    assert!((record.latency_sum - 1.05).abs() < 1e-9);
}

#[test]
fn poisson_pieces_come_at_their_rates() {
    let scenario = scenario(
        "rtt = \"0s\"\nduration = \"300s\"",
        "kind = \"fifo\"\nworkers = 50\nservice = \"1ms\"",
        "kind = \"open\"\nrate = [{ from = \"0s\", per_second = 50 }, { from = \"100s\", per_second = 0 }, { from = \"200s\", per_second = 400 }]",
        "",
    );
    let record = fixed(&scenario, 100);
    let third = record.series.points.len() / 3;
    let counts: Vec<u32> = record
        .series
        .points
        .chunks(third)
        .map(|points| points.iter().map(|point| point.successes).sum())
        .collect();
    near(f64::from(counts[0]), 5_000.0, 0.05);
    assert_eq!(counts[1], 0);
    near(f64::from(counts[2]), 40_000.0, 0.02);
}
