//! Many keys.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use allocation_counter::measure;
use tidegate::{GateLayer, GovernorLayer, HttpClassifier, KeyedLayer, Units, per_hour, per_second};
use tokio::runtime::Handle;
use tokio::time::advance;
use tower::Layer;

use crate::{clean, echo, free, send, slow, strict};

#[tokio::test(start_paused = true)]
async fn keys_that_are_done_leave_as_a_few_others_go_on() {
    let keyed = KeyedLayer::per_host(|_| strict(10, per_second(1.0)));
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    for host in 0..4_000 {
        send(&stack, &format!("host-{host}.example")).unwrap();
    }
    assert_eq!(handle.len(), 4_000);
    for _ in 0..2_500 {
        advance(1.s()).await;
        for host in 0..100 {
            send(&stack, &format!("active-{host}.example")).unwrap();
        }
    }
    assert!(handle.len() <= 110, "{}", handle.len());
}

/// A look-up each 10 ms, to hosts that are known.
#[tokio::test(start_paused = true)]
async fn what_a_burst_of_keys_left_goes_in_a_quarter_as_many_calls() {
    const KEYS: usize = 50_000;
    let keyed = KeyedLayer::per_host(|_| strict(10, per_second(1.0)));
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    (0..KEYS).for_each(|host| send(&stack, &format!("host-{host}.example")).unwrap());
    assert_eq!(handle.len(), KEYS);
    let mut calls = 0;
    while handle.len() > 110 {
        advance(10.ms()).await;
        send(&stack, &format!("active-{}.example", calls % 100)).unwrap();
        calls += 1;
    }
    assert!(calls < KEYS / 4, "{calls}");
}

#[tokio::test(start_paused = true)]
async fn what_a_key_takes_is_bounded_and_given_back() {
    const KEYS: u32 = 5_000;
    let hosts: Vec<_> = (0..KEYS)
        .map(|host| format!("host-{host:06}.example"))
        .collect();
    let keyed = KeyedLayer::per_host(|host| match host {
        "last.example" => free(),
        _ => strict(10, per_hour(60.0)),
    })
    .max_keys(2 * KEYS as usize);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    let filled = measure(|| hosts.iter().for_each(|host| send(&stack, host).unwrap()));
    assert_eq!(handle.len(), KEYS as usize);
    let each = filled.bytes_current / i64::from(KEYS);
    println!("{each} bytes for each key");
    assert!(each < 800, "{each}");

    advance(60.s()).await;
    let mut left = filled.bytes_current;
    for _ in 0..40 {
        let emptied = measure(|| {
            for _ in 0..2 * KEYS {
                send(&stack, "last.example").unwrap();
            }
        });
        left += emptied.bytes_current;
        advance(1.s()).await;
    }
    assert_eq!(handle.len(), 1);
    assert!(left < 100_000, "{left}");
}

#[tokio::test(start_paused = true)]
async fn where_all_keys_are_in_use_new_ones_share_one_gate_and_nothing_is_forgotten() {
    let keyed = KeyedLayer::per_host(|_| strict(10, per_hour(1.0))).max_keys(4);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    for host in ["a", "b", "c", "d", "e"] {
        send(&stack, host).unwrap();
    }
    assert_eq!((handle.len(), handle.overflowed()), (4, 1));
    let shared = send(&stack, "f").unwrap_err();
    assert_eq!((shared.by, shared.key.as_deref()), ("gate", Some("*")));
    assert_eq!(handle.key("g").key(), "*");
    for host in ["a", "b", "c", "d"] {
        let refused = send(&stack, host).unwrap_err();
        assert_eq!(refused.key.as_deref(), Some(host));
    }

    advance(3_600.s()).await;
    for host in ["e", "f", "g", "h"] {
        send(&stack, host).unwrap();
    }
    assert_eq!((handle.len(), handle.overflowed()), (4, 3));
}

/// What a key took of the shared layer it does not owe in its own; and never has both again before its
/// own is as one that is made now.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_without_room_starts_at_most_twice_its_burst() {
    let keyed = KeyedLayer::per_host(|_| strict(10, slow(3))).max_keys(1);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    let most = |host: &str| {
        let sent = (0..10).take_while(|_| send(&stack, host).is_ok()).count();
        let refused = send(&stack, host).unwrap_err();
        (sent, refused.key.unwrap().to_string())
    };
    send(&stack, "a").unwrap();
    assert_eq!(most("b"), (3, "*".to_owned()));
    // Whoever else has no room has what is left of the same.
    assert_eq!(most("c"), (0, "*".to_owned()));
    advance(1_000.s()).await;
    assert_eq!(most("b"), (3, "b".to_owned()));
    assert_eq!(most("a"), (1, "*".to_owned()));
    advance(2_000.s()).await;
    assert_eq!(most("b"), (2, "b".to_owned()));
    assert_eq!((handle.len(), handle.overflowed()), (1, 10));
}

#[tokio::test(start_paused = true)]
async fn where_nobody_is_fresh_what_was_idle_for_longest_makes_room() {
    let keyed = KeyedLayer::per_host(|_| GovernorLayer::new(HttpClassifier::default()).hold_head())
        .max_keys(2);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    send(&stack, "a").unwrap();
    send(&stack, "b").unwrap();
    advance(10.s()).await;
    // So often that the cleaner comes by at both.
    (0..2 * 512 * 64).for_each(|_| send(&stack, "b").unwrap());
    advance(10.s()).await;
    send(&stack, "b").unwrap();
    send(&stack, "c").unwrap();
    assert!(handle.get("a").is_none() && handle.get("b").is_some());
    assert_eq!((handle.len(), handle.overflowed()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_of_them_leave_no_task_behind() {
    let layer = || KeyedLayer::per_host(|_| GateLayer::new(1).hold_head());
    let stacks: Vec<_> = (0..10_000).map(|_| layer().layer(echo())).collect();
    for stack in &stacks[..100] {
        clean(stack, &stack.handle());
    }
    let tasks = || Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks(), 0);
    drop(stacks);
    assert_eq!(tasks(), 0);
}

#[test]
fn clones_and_services_of_one_layer_share_what_is_kept() {
    let keyed = KeyedLayer::per_host(|_| strict(10, slow(3)));
    let one = keyed.layer(echo());
    let two = keyed.clone().layer(echo());
    send(&one, "a").unwrap();
    send(&two, "a").unwrap();
    send(&one.clone(), "a").unwrap();
    send(&two.clone(), "a").unwrap_err();
    assert_eq!(keyed.handle().len(), 1);
}

/// Threads that come for the same new hosts at the same time find one gate.
#[test]
fn threads_that_make_the_same_keys_at_once_share_their_gates() {
    let keyed = KeyedLayer::per_host(|_| strict(10, slow(5)));
    let stack = keyed.layer(echo());
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for host in 0..2_000 {
                    for _ in 0..3 {
                        let done = send(&stack, &format!("host-{host}")).is_ok();
                        sent.fetch_add(done.into(), Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(sent.load(Relaxed), 2_000 * 5);
    assert_eq!(keyed.handle().len(), 2_000);
}
