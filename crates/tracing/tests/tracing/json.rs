//! What is said, as `tracing_subscriber` writes it in JSON.

use std::future::Future;

use http::{Request, Response};
use serde_json::{Value, json};
use tidegate_core::{
    Cause, Change, Observer as _, Outcome, Reason, Refused, RefusedReason, Sample, Setting, Units,
    per_second,
};
use tidegate_gate::GateLayer;
use tidegate_tracing::{Events, SpanLayer};
use tokio::time::sleep;
use tower::{ServiceBuilder, ServiceExt, service_fn};
use tracing::Level;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::hostile::{Log, everything, hostile};
use crate::now;

/// The lines that are written meanwhile.
async fn written(say: impl Future<Output = ()>) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(log.clone())
        .without_time()
        .finish();
    let listening = tracing::subscriber::set_default(subscriber);
    say.await;
    drop(listening);
    log.lines()
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn sample() -> Sample {
    let started = now().into_std();
    Sample {
        started,
        latency: Some(20.ms()),
        in_flight_at_start: 3,
        in_flight: 2,
        outcome: Outcome::Overload(Cause::Throttled),
        retry_after: None,
    }
}

#[tokio::test(start_paused = true)]
async fn each_event_has_numbers_as_numbers_and_words_as_they_are() {
    let lines = written(async {
        let events = Events::new("users").key("a.example");
        let at = now().into_std();
        let (from, mut to) = (Setting::limit(32.0), Setting::limit(14.0 + 1.0 / 3.0));
        (to.pace, to.pause_until) = (Some(per_second(0.5)), Some(at + 1_500.ms()));
        let reason = Reason::Starting;
        events.on_change(at, &Change { from, to, reason });
        events.on_sample(at, &sample());
        events.on_wait(at, 300.ms());
        events.on_retry(at, 2, 100.ms());
        events.on_gave_up(at, "budget", 2);
        let full = RefusedReason::QueueFull { max_queue: 5 };
        let refused = Refused::new("gate", full).retry_after(Some(600.ms()));
        events.on_refused(at, &refused, 250.ms());
    });
    let lines: Vec<Value> = lines.await.iter().map(|line| parse(line)).collect();
    let (key, stack) = ("a.example", "users");
    let fields = [
        json!({"message": "moved", "key": key, "stack": stack,
            "limit_before": 32.0, "limit": 14.33, "per_second": 0.5, "pause_ms": 1500.0,
            "reason": "starting: one more for each success"}),
        json!({"message": "no success", "key": key, "stack": stack,
            "outcome": "throttled", "latency_ms": 20.0, "in_flight": 2}),
        json!({"message": "waited", "key": key, "stack": stack, "wait_ms": 300.0}),
        json!({"message": "tries again", "key": key, "stack": stack,
            "attempt": 2, "after_ms": 100.0}),
        json!({"message": "gave up", "key": key, "stack": stack, "reason": "budget", "sent": 2}),
        json!({"message": "refused, nothing was sent", "key": key, "stack": stack, "by": "gate",
            "reason": "the queue is full (5 may wait)", "wait_ms": 250.0, "retry_after_ms": 600.0}),
        json!({"message": "requests were refused, nothing was sent", "stack": stack, "by": "gate",
            "refused": 1, "queue_full": 1, "longest_wait_ms": 250.0,
            "most_refused": "a.example (1)"}),
    ];
    let levels = ["DEBUG", "TRACE", "TRACE", "DEBUG", "DEBUG", "TRACE", "WARN"];
    let expected = levels.into_iter().zip(fields);
    let expected = expected
        .map(|(level, fields)| json!({"level": level, "target": "tidegate", "fields": fields}));
    assert_eq!(lines, expected.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_span_has_what_was_known_at_its_begin_and_at_its_end() {
    let lines = written(async {
        let gate = GateLayer::new(1).hold_head();
        let taken = gate.handle().try_acquire().unwrap();
        let spans = SpanLayer::new().name("users");
        let stack = ServiceBuilder::new().layer(spans).layer(gate);
        let stack = stack.service(service_fn(async |_: Request<()>| {
            let response = Response::builder().status(503);
            response.body(())
        }));
        let request = Request::get("https://me:secret@api.example/v1?key=secret");
        let answer = tokio::spawn(stack.oneshot(request.body(()).unwrap()));
        sleep(300.ms()).await;
        drop(taken);
        assert_eq!(answer.await.unwrap().unwrap().status(), 503);
    });
    let lines = lines.await;
    let [line] = &lines[..] else {
        panic!("{lines:#?}");
    };
    let span = json!({
        "name": "request",
        "tidegate.stack": "users",
        "otel.kind": "client",
        "otel.name": "GET",
        "http.request.method": "GET",
        "server.address": "api.example",
        "server.port": 443,
        "http.response.status_code": 503,
        "error.type": "503",
        "tidegate.wait_ms": 300.0,
    });
    let line = parse(line);
    assert_eq!(line["fields"]["message"], "close");
    assert_eq!(line["span"], span);
}

/// All strings in it, and all names of fields.
fn strings(json: &Value, found: &mut Vec<String>) {
    found.extend(json.as_str().map(str::to_owned));
    let (list, map) = (json.as_array(), json.as_object());
    list.into_iter().flatten().for_each(|it| strings(it, found));
    for (name, it) in map.into_iter().flatten() {
        found.push(name.clone());
        strings(it, found);
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_names_are_one_string_each_and_add_neither_a_line_nor_a_field() {
    let shape = |line: &String| {
        let line = parse(line);
        let of = |part: &str| -> Vec<String> {
            let fields = line[part].as_object().into_iter().flatten();
            fields.map(|(name, _)| name.clone()).collect()
        };
        [of("fields"), of("span")]
    };
    let plain = written(everything("tide", "tide")).await;
    let plain: Vec<_> = plain.iter().map(shape).collect();
    for words in hostile() {
        let lines = written(everything(words, words)).await;
        assert_eq!(lines.iter().map(shape).collect::<Vec<_>>(), plain);
        for line in &lines {
            assert!(line.len() < 2_000, "{line}");
            let mut found = Vec::new();
            strings(&parse(line), &mut found);
            for string in found {
                let is_ink = |c: char| !c.is_control() && !"\u{202e}\u{2028}".contains(c);
                assert!(string.chars().all(is_ink), "{string:?}");
                assert!(!string.contains("secret"), "{string}");
            }
        }
    }
}
