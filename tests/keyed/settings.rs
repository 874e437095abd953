//! What is moved while it runs.

use std::{io, thread};

use futures_util::future::join_all;
use http::Response;
use tidegate::{
    GateLayer, GovernorLayer, HttpClassifier, KeySettings, KeyedLayer, Settings, Units, per_second,
};
use tokio::time::{advance, sleep};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{assert_free, now};
use crate::{clean_later, echo, get, send, slow, strict};

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_moved_while_requests_wait_lets_in_those_of_its_key_alone() {
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).hold_head());
    let handle = keyed.handle();
    let stack = keyed.layer(service_fn(async |_: http::Request<()>| {
        sleep(10.ms()).await;
        Ok::<_, io::Error>(Response::new(()))
    }));
    let started = now();
    let send = |host: &str| {
        let call = stack.clone().oneshot(get(format!("http://{host}/")));
        async move {
            call.await.unwrap();
            (now() - started).as_millis()
        }
    };
    let moved = async {
        sleep(5.ms()).await;
        assert_eq!(handle.snapshot("a.example").unwrap().waiting, 4);
        handle.set("A.example", KeySettings::new().limit(3));
    };
    let calls =
        ["a.example", "b.example"].map(|host| join_all((0..5).map(move |_| host).map(send)));
    let [a, b] = calls;
    let (a, b, ()) = tokio::join!(a, b, moved);
    assert_eq!(a, [10, 15, 15, 20, 25]);
    assert_eq!(b, [10, 20, 30, 40, 50]);
    assert_free(&handle.get("a.example").unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_was_set_for_a_key_is_there_again_when_the_key_comes_back() {
    let keyed = KeyedLayer::per_host(|_| strict(10, per_second(1e9)));
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    handle.set("a.example", KeySettings::new().limit(2).pace(slow(3)));
    for _ in 0..2 {
        (0..3).for_each(|_| send(&stack, "a.example").unwrap());
        send(&stack, "a.example").unwrap_err();
        assert_eq!(handle.get("a.example").unwrap().limit(), 2);
        assert_eq!(handle.snapshot("a.example").unwrap().pace, Some(slow(3)));
        advance(3_000.s()).await;
        clean_later(&stack, &handle).await;
        assert!(handle.get("a.example").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_loaded_moves_those_that_run_and_leaves_alone_what_stays_the_same() {
    let keyed = KeyedLayer::per_host(|_| GovernorLayer::new(HttpClassifier::default()).hold_head());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    for host in ["a", "b", "c"] {
        handle.key(host).set_limit(9);
    }
    let limit = |host| handle.snapshot(host).unwrap().limit;

    let first = Settings::new()
        .for_all(KeySettings::new().pace(per_second(50.0)))
        .key("a", KeySettings::new().limit(5))
        .key("b", KeySettings::new().limit(7));
    handle.load(first.clone());
    assert_eq!(handle.settings(), first);
    assert_eq!([limit("a"), limit("b"), limit("c")], [5, 7, 9]);
    handle.for_each(|_, governor| assert_eq!(governor.pace(), Some(per_second(50.0))));
    send(&stack, "new").unwrap();
    assert_eq!(handle.snapshot("new").unwrap().pace, Some(per_second(50.0)));

    handle.get("b").unwrap().set_limit(6);
    handle.load(Settings::new().key("b", KeySettings::new().limit(7)));
    // As one that is made now; where the law is; where it was.
    assert_eq!([limit("a"), limit("b"), limit("c")], [1, 6, 9]);
    handle.for_each(|_, governor| assert_eq!(governor.pace(), None));
}

#[tokio::test(start_paused = true)]
async fn debts_are_kept_when_a_pace_is_moved() {
    let keyed = KeyedLayer::per_host(|_| strict(10, per_second(0.1)));
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    send(&stack, "a").unwrap();
    handle.set_for_all(KeySettings::new().pace(per_second(1.0)));
    assert_eq!(send(&stack, "a").unwrap_err().retry_after, Some(1.s()));
}

#[tokio::test(start_paused = true)]
async fn settings_that_change_while_keys_are_made_reach_all_of_them() {
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).hold_head());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    thread::scope(|scope| {
        for thread in 0..2 {
            let stack = &stack;
            scope.spawn(move || {
                for host in 0..3_000 {
                    send(stack, &format!("host-{thread}-{host}")).unwrap();
                }
            });
        }
        scope.spawn(|| {
            for limit in 2..=200 {
                handle.set_for_all(KeySettings::new().limit(limit));
            }
        });
    });
    handle.for_each(|key, gate| assert_eq!(gate.limit(), 200, "{key}"));
}
