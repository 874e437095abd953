//! What many keys take, and leave behind.

use std::time::Duration;

use allocation_counter::measure;
use tidegate::{GateLayer, HoldHead, Keyed, KeyedLayer, PerHost, Units, per_second};
use tokio::time::{Instant, advance};
use tower::Layer;
use tower::util::ServiceFn;

use crate::support::now;
use crate::{Answered, Head, echo, free, send, slow, strict};

type Stack = Keyed<ServiceFn<fn(Head) -> Answered>, PerHost, GateLayer<HoldHead>>;

const PAUSE: Duration = Duration::from_secs(7_200);

fn stack() -> Stack {
    let keyed = KeyedLayer::per_host(|host| match host {
        "slow.example" => strict(10, slow(10)),
        _ => strict(10, per_second(1.0)),
    });
    keyed.layer(echo())
}

/// A thousand keys of one request each: what it takes, all in all.
fn thousand() -> i64 {
    let mut kept = None;
    let measured = measure(|| {
        let stack = stack();
        (0..1_000).for_each(|host| send(&stack, &format!("host-{host:07}.example")).unwrap());
        assert_eq!(stack.handle().len(), 1_000);
        kept = Some(stack);
    });
    measured.bytes_current
}

/// A million keys of one request each in an hour, one of which owes and one of which is paused; then a
/// hundred that go on for longer than any idle time.
#[tokio::test(start_paused = true)]
async fn after_a_million_keys_a_hundred_take_less_than_a_thousand_and_debt_and_pause_are_there() {
    let thousand = thousand();
    let stack = stack();
    let handle = stack.handle();
    let started = now();
    (0..10).for_each(|_| send(&stack, "slow.example").unwrap());
    handle
        .key("paused.example")
        .pause_until((started + PAUSE).into_std());

    let (mut bytes, mut most, mut longest) = (0, 0, 0);
    for turn in 0..10_000 {
        let measured = measure(|| {
            for host in 0..100 {
                send(&stack, &format!("host-{:07}.example", 100 * turn + host)).unwrap();
            }
        });
        bytes += measured.bytes_current;
        most = most.max(bytes);
        longest = longest.max(handle.len());
        advance(360.ms()).await;
    }
    // 278 come in a second, owe for one, and are idle for another.
    assert!(longest < 6 * 278, "{longest}");
    for _ in 0..1_200 {
        let measured = measure(|| {
            for host in 0..100 {
                send(&stack, &format!("active-{host:05}.example")).unwrap();
            }
        });
        bytes += measured.bytes_current;
        advance(1.s()).await;
    }
    println!("{thousand} bytes for a thousand, at most {most} and {bytes} after a million");
    assert!(handle.len() <= 102 + 10, "{}", handle.len());
    assert!(bytes <= 2 * thousand, "{bytes} {thousand}");

    assert_debt_and_pause(&stack, started);
}

/// All at once: none is fresh, so that those that find no room share one gate.
#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_at_one_moment_take_what_the_most_that_are_kept_do_and_give_it_back() {
    let thousand = thousand();
    let keyed = KeyedLayer::per_host(|host| match host {
        "*" => free(),
        _ => strict(10, per_second(1.0)),
    });
    let stack = keyed.max_keys(2_000).layer(echo());
    let handle = stack.handle();
    let filled = measure(|| {
        (0..10_000).for_each(|host| send(&stack, &format!("host-{host:07}.example")).unwrap());
    });
    assert_eq!((handle.len(), handle.overflowed()), (2_000, 8_000));
    assert!(filled.bytes_current < 3 * thousand, "{filled:?}");
    let mut left = filled.bytes_current;
    for _ in 0..2_000 {
        advance(1.s()).await;
        let measured = measure(|| {
            (0..100).for_each(|host| send(&stack, &format!("active-{host:05}.example")).unwrap());
        });
        left += measured.bytes_current;
    }
    assert!(left < thousand, "{left} {thousand}");
}

fn assert_debt_and_pause(stack: &Stack, started: Instant) {
    let passed = now() - started;
    assert!(passed > 3_600.s() + 600.s());
    // It has gained one of ten in each 1,000 seconds.
    let gained = passed.as_secs() / 1_000;
    (0..gained).for_each(|_| send(stack, "slow.example").unwrap());
    send(stack, "slow.example").unwrap_err();
    let refused = send(stack, "paused.example").unwrap_err();
    assert_eq!(refused.retry_after, PAUSE.checked_sub(passed));
}
