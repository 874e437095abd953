//! What is said of a change, a wait, a retry and a failure.

use std::time::Duration;

use tidegate_control::Aimd;
use tidegate_core::{
    Cause, Change, Observer as _, Outcome, Reason, Refused, RefusedReason, Sample, Setting, Units,
    per_second,
};
use tidegate_feedback::FeedbackLayer;
use tidegate_gate::GateLayer;
use tidegate_tracing::Events;
use tokio::time::sleep;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};
use tracing::Level;

use crate::heard::{Heard, Line};
use crate::now;

#[tokio::test(start_paused = true)]
async fn a_change_says_what_moved_and_why() {
    let (heard, _listening) = Heard::listen();
    let events = Events::new("users").key("a.example");
    let now = now().into_std();
    let (from, mut to) = (Setting::limit(32.0), Setting::limit(16.0));
    let reason = Reason::Overloaded {
        overloaded: 4,
        of: 16,
        threshold: 0.1,
    };
    events.on_change(now, &Change { from, to, reason });
    let from = to;
    to.pace = Some(per_second(50.0));
    to.pause_until = Some(now + 1_500.ms());
    let reason = Reason::RetryAfter(1_500.ms());
    events.on_change(now, &Change { from, to, reason });

    let [limit, pace] = &heard.events()[..] else {
        panic!("two lines");
    };
    assert_eq!((limit.level, pace.level), (Level::DEBUG, Level::DEBUG));
    assert_eq!(
        limit.words(),
        "key=a.example limit=16.0 limit_before=32.0 message=moved \
         reason=25 % of 16 overloaded, above 10 % stack=users"
    );
    assert_eq!(
        pace.words(),
        "key=a.example message=moved pause_ms=1500.0 per_second=50.0 \
         reason=told to stay away for 1.5s stack=users"
    );
}

#[tokio::test(start_paused = true)]
async fn limits_are_said_to_two_decimals() {
    let (heard, _listening) = Heard::listen();
    let from = Setting::limit(13.458_898_943_540_675);
    let (to, reason) = (Setting::limit(14.0 + 1.0 / 3.0), Reason::Starting);
    Events::new("users").on_change(now().into_std(), &Change { from, to, reason });
    let [moved] = &heard.events()[..] else {
        panic!("one line");
    };
    assert_eq!(moved.get("limit_before"), "13.46");
    assert_eq!(moved.get("limit"), "14.33");
}

#[tokio::test(start_paused = true)]
async fn what_is_of_the_stack_is_in_no_requests_span() {
    let (heard, _listening) = Heard::listen();
    let (events, at) = (Events::new("users"), now().into_std());
    tracing::info_span!(target: "tidegate", "request").in_scope(|| {
        let (from, to) = (Setting::limit(32.0), Setting::limit(16.0));
        let reason = Reason::Starting;
        events.on_change(at, &Change { from, to, reason });
        let refused = Refused::new("gate", RefusedReason::Closed);
        events.on_refused(at, &refused, Duration::ZERO);
    });
    let events = heard.events();
    let events = events.iter().map(|line| (line.get("message"), line.within));
    assert_eq!(
        events.collect::<Vec<_>>(),
        [
            ("moved", false),
            ("refused, nothing was sent", true),
            ("requests were refused, nothing was sent", false),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_law_that_moves_its_gate_is_heard_through_its_handle() {
    let (heard, _listening) = Heard::listen();
    let gate = GateLayer::new(1).hold_head();
    let classifier = |_: tidegate_classify::Answer<'_, u32>| Outcome::Success;
    let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle()).hold_head();
    Events::new("users").attach(&feedback.handle());
    let stack = ServiceBuilder::new().layer(gate).layer(feedback);
    let stack = stack.service(service_fn(async |n: u32| {
        sleep(Duration::from_millis(10)).await;
        Ok::<_, std::io::Error>(n)
    }));
    for n in 0..40 {
        stack.clone().oneshot(n).await.unwrap();
    }
    let events = heard.events();
    assert!(!events.is_empty());
    assert!(events.iter().all(|event| event.level == Level::DEBUG));
    assert_eq!(events[0].get("limit_before"), "1.0");
    assert_eq!(heard.loud().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hand_at_a_gate_without_a_law_is_a_word_at_debug() {
    let (heard, _listening) = Heard::listen();
    let gate = GateLayer::new(8).handle();
    Events::new("users").key("a.example").attach(&gate);
    gate.set_limit(4);
    gate.set_pace(Some(per_second(50.0)));
    gate.pause_until((now() + 1_500.ms()).into_std());
    gate.end_pause();
    let events = heard.events();
    assert!(events.iter().all(|event| event.level == Level::DEBUG));
    let words: Vec<_> = events.iter().map(Line::words).collect();
    let moved = |what: &str| format!("key=a.example {what} reason=moved by hand stack=users");
    assert_eq!(
        words,
        [
            moved("limit=4.0 limit_before=8.0 message=moved"),
            moved("message=moved per_second=50.0"),
            moved("message=moved pause_ms=1500.0"),
            moved("message=moved pause_ms=0.0"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_hand_at_a_laws_handle_is_told_once_by_the_law_that_goes_on_from_there() {
    let (heard, _listening) = Heard::listen();
    let gate = GateLayer::new(1).hold_head();
    let classifier = |_: tidegate_classify::Answer<'_, u32>| Outcome::Ignored;
    let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle()).hold_head();
    let handle = feedback.handle();
    Events::new("users").attach(&handle);
    handle.set_limit(20);
    gate.handle().pause_until((now() + 1.ms()).into_std());
    assert_eq!(heard.events().len(), 0);
    let stack = ServiceBuilder::new().layer(gate).layer(feedback);
    let echo = service_fn(async |n: u32| Ok::<_, std::io::Error>(n));
    stack.service(echo).oneshot(1).await.unwrap();
    let events = heard.events();
    let moved: Vec<_> = events
        .iter()
        .filter(|it| it.get("message") == "moved")
        .collect();
    assert_eq!(moved.len(), 1, "{events:?}");
    assert_eq!(
        moved[0].words(),
        "limit=20.0 limit_before=1.0 message=moved reason=moved by hand stack=users"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_is_a_word_at_trace() {
    let (heard, _listening) = Heard::listen();
    let gate = GateLayer::new(1).hold_head();
    Events::new("users").attach(&gate.handle());
    let stack = gate.layer(service_fn(async |n: u32| {
        sleep(Duration::from_millis(300)).await;
        Ok::<_, std::io::Error>(n)
    }));
    let (first, second) = (stack.clone().oneshot(1), stack.oneshot(2));
    let (first, second) = futures_util::future::join(first, second).await;
    assert_eq!((first.unwrap(), second.unwrap()), (1, 2));
    let [waited] = &heard.events()[..] else {
        panic!("one line");
    };
    assert_eq!(waited.level, Level::TRACE);
    assert_eq!(waited.words(), "message=waited stack=users wait_ms=300.0");
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_a_word_at_debug_and_a_failure_one_at_trace() {
    let (heard, _listening) = Heard::listen();
    let events = Events::new("users");
    let started = now().into_std();
    let mut sample = Sample {
        started,
        latency: Some(20.ms()),
        in_flight_at_start: 3,
        in_flight: 2,
        outcome: Outcome::Success,
        retry_after: None,
    };
    events.on_sample(started, &sample);
    sample.outcome = Outcome::Overload(Cause::Throttled);
    events.on_sample(started, &sample);
    events.on_retry(started, 2, 100.ms());
    events.on_gave_up(started, "budget", 2);
    let events = heard.events();
    let lines: Vec<_> = events
        .iter()
        .map(|line| (line.level, line.words()))
        .collect();
    let failed = "in_flight=2 latency_ms=20.0 message=no success outcome=throttled \
                  stack=users";
    let again = "after_ms=100.0 attempt=2 message=tries again stack=users";
    let gave_up = "message=gave up reason=budget sent=2 stack=users";
    let expected = [
        (Level::TRACE, failed),
        (Level::DEBUG, again),
        (Level::DEBUG, gave_up),
    ];
    assert_eq!(
        lines,
        expected.map(|(level, words)| (level, words.to_owned()))
    );
}
