//! What a key, a factory or a caller may do that nobody expects.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::task::{Context, Waker};
use std::time::Instant;
use std::{io, thread};

use allocation_counter::measure;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::{Request, Response};
use tidegate::{
    Freshness, GateLayer, HoldHead, Key, KeySettings, Keyable, KeyedHandle, KeyedLayer, Settings,
    Units, per_hour, per_second,
};
use tokio::runtime::Builder;
use tokio::time::{advance, sleep};
use tower::{Layer, Service, service_fn};

use crate::support::assert_free;
use crate::{Head, echo, free, get, passer_by, send, slow, strict};

type Handle = KeyedHandle<GateLayer<HoldHead>>;

/// Looks into the set that it makes a layer for, in each way that there is.
fn comes_back(handle: &Handle, key: &str) {
    handle.get(key);
    handle.snapshot(key);
    let _ = handle.len();
    let _ = format!("{handle:?}");
    handle.for_each(|_, gate| drop(gate));
    if !key.starts_with("child-") {
        handle.key(&format!("child-of-{key}")).limit();
        handle.set(&format!("child-of-{key}"), KeySettings::new().limit(2));
        handle.load(handle.settings().for_all(KeySettings::new().limit(3)));
    }
}

#[test]
fn a_factory_may_come_back_to_the_set_that_it_makes_a_layer_for() {
    let known: Arc<OnceLock<Handle>> = Arc::default();
    let set = Arc::clone(&known);
    let first_time = Mutex::new(HashSet::new());
    let keyed = KeyedLayer::new(
        |request: &Head| request.uri().host().unwrap_or_default().to_owned(),
        move |key: &str| {
            let is_first = first_time.lock().unwrap().insert(key.to_owned());
            if let (Some(handle), true) = (set.get(), is_first) {
                comes_back(handle, key);
            }
            free()
        },
    )
    .max_keys(4);
    known.set(keyed.handle()).expect("once");
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    // Nothing else holds it: the fifth and those after it share what is made in the same way.
    let held: Vec<_> = (0..8)
        .map(|host| {
            send(&stack, &format!("host-{host}")).unwrap();
            handle.key(&format!("host-{host}"))
        })
        .collect();
    assert_eq!(held[0].limit(), 3);
    assert_eq!(held[7].key(), "*");
    assert_eq!(handle.len(), 4);
    // What is no longer set is as the factory has it, which is asked again.
    handle.load(Settings::new());
    assert!(
        held.iter()
            .all(|gate| gate.limit() == 100 || gate.limit() == 3)
    );
}

#[test]
fn a_key_function_that_panics_leaves_no_trace() {
    let keyed = KeyedLayer::new(
        |request: &Head| {
            let host = request.uri().host().unwrap();
            assert_ne!(host, "broken", "no such key");
            host.to_owned()
        },
        |_| strict(1, slow(2)),
    );
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    send(&stack, "a").unwrap();
    catch_unwind(AssertUnwindSafe(|| send(&stack, "broken"))).unwrap_err();
    send(&stack, "a").unwrap();
    send(&stack, "a").unwrap_err();
    assert_eq!(handle.len(), 1);
}

/// One that panics when it is asked how fresh it is, if it counts that.
struct Broken {
    gate: GateLayer<HoldHead>,
    panics: Option<Arc<AtomicUsize>>,
}

impl Keyable for Broken {
    type Handle = ();

    fn handle(&self) {}

    fn freshness(&self, now: Instant) -> Freshness {
        if let Some(panics) = &self.panics {
            panics.fetch_add(1, SeqCst);
            panic!("it cannot tell");
        }
        self.gate.freshness(now)
    }
}

impl<S> Layer<S> for Broken {
    type Service = <GateLayer<HoldHead> as Layer<S>>::Service;

    fn layer(&self, inner: S) -> Self::Service {
        self.gate.layer(inner)
    }
}

#[test]
fn a_layer_that_panics_when_it_is_asked_how_fresh_it_is_stays_and_spoils_nothing_for_the_others() {
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    let keyed = KeyedLayer::per_host(move |host| Broken {
        gate: strict(10, slow(3)),
        panics: host.starts_with("broken").then(|| Arc::clone(&counted)),
    })
    .max_keys(100);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    for turn in 0..3 {
        for host in 0..50 {
            for kind in ["broken", "whole"] {
                let host = format!("{kind}-{host}");
                assert!(send(&stack, &host).is_ok(), "{host} {turn}");
            }
        }
    }
    assert!(panics.load(SeqCst) > 0);
    assert_eq!(handle.len(), 100);
    // Neither those nor the others, which have spent what they may, make room for one more.
    send(&stack, "one-more").unwrap();
    assert_eq!((handle.len(), handle.overflowed()), (100, 1));
}

/// One that panics when it is dropped, if it counts that.
struct Falls(GateLayer<HoldHead>, Option<Arc<AtomicUsize>>);

impl Drop for Falls {
    fn drop(&mut self) {
        if let Some(falls) = &self.1 {
            falls.fetch_add(1, SeqCst);
            panic!("it does not go quietly");
        }
    }
}

impl Keyable for Falls {
    type Handle = ();

    fn handle(&self) {}

    fn freshness(&self, now: Instant) -> Freshness {
        self.0.freshness(now)
    }
}

impl<S> Layer<S> for Falls {
    type Service = <GateLayer<HoldHead> as Layer<S>>::Service;

    fn layer(&self, inner: S) -> Self::Service {
        self.0.layer(inner)
    }
}

#[tokio::test(start_paused = true)]
async fn layers_that_panic_when_they_are_let_go_of_end_no_request_of_others() {
    let falls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&falls);
    let keyed = KeyedLayer::per_host(move |host| {
        let counted = host.starts_with("falls").then(|| Arc::clone(&counted));
        Falls(free(), counted)
    })
    .max_keys(100);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    // Some make room for others, and what is left is cleaned away.
    (0..200).for_each(|host| send(&stack, &format!("falls-{host}")).unwrap());
    assert_eq!((handle.len(), falls.load(SeqCst)), (100, 100));
    for _ in 0..4 {
        advance(1.s()).await;
        (0..400).for_each(|_| send(&stack, &passer_by()).unwrap());
    }
    assert_eq!(falls.load(SeqCst), 200);
    assert_eq!(handle.overflowed(), 0);
}

#[test]
fn a_factory_that_panics_where_there_is_no_room_leaves_the_shared_layer_to_the_next_one() {
    let asked = AtomicUsize::new(0);
    let keyed = KeyedLayer::per_host(move |host| {
        let first = host == "*" && asked.fetch_add(1, SeqCst) == 0;
        assert!(!first, "not now");
        strict(10, slow(1))
    })
    .max_keys(1);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    send(&stack, "a").unwrap();
    catch_unwind(AssertUnwindSafe(|| send(&stack, "b"))).unwrap_err();
    send(&stack, "b").unwrap();
    assert_eq!(send(&stack, "c").unwrap_err().key.as_deref(), Some("*"));
    assert_eq!(handle.len(), 1);
}

/// Both threads are in the factory at the same time: each makes a layer, and one of them is used.
#[test]
fn two_that_make_the_same_key_at_the_same_moment_share_one_of_the_two_layers() {
    for _ in 0..100 {
        let both = Barrier::new(2);
        let keyed = KeyedLayer::per_host(move |_| {
            both.wait();
            strict(10, slow(3))
        });
        let stack = keyed.layer(echo());
        let sent = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let passed = (0..3).filter(|_| send(&stack, "a").is_ok()).count();
                    sent.fetch_add(passed, SeqCst);
                });
            }
        });
        assert_eq!(sent.load(SeqCst), 3);
        assert_eq!(keyed.handle().len(), 1);
    }
}

/// One that is inside of a service, until it is answered or its caller has left.
struct Inside(Arc<Vec<AtomicUsize>>, usize);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0[self.1].fetch_sub(1, SeqCst);
    }
}

/// Threads look keys up, let go of them and bring new ones, so that everything is cleaned all the
/// time: no key ever has two gates.
#[test]
fn a_key_that_is_looked_up_while_it_is_cleaned_has_one_gate() {
    const KEYS: usize = 8;
    let inside: Arc<Vec<AtomicUsize>> = Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect());
    let most = Arc::new(AtomicUsize::new(0));
    let (counted, peak) = (Arc::clone(&inside), Arc::clone(&most));
    let service = service_fn(move |request: Head| {
        let host = request.uri().host().unwrap();
        let key = host.strip_prefix("key-").and_then(|key| key.parse().ok());
        let (inside, most) = (Arc::clone(&counted), Arc::clone(&peak));
        async move {
            let _guard = key.map(|key: usize| {
                most.fetch_max(inside[key].fetch_add(1, SeqCst) + 1, SeqCst);
                Inside(inside, key)
            });
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Response::new(()))
        }
    });
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    // Without a pace: a gate that nobody is at is fresh, and goes at once.
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).hold_head()).max_keys(64);
    let stack = keyed.layer(service);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (mut stack, runtime) = (stack.clone(), runtime.handle().clone());
            scope.spawn(move || {
                let _entered = runtime.enter();
                let mut context = Context::from_waker(Waker::noop());
                for turn in 0..6_000 {
                    let key = (turn + thread) % KEYS;
                    let mut call = Box::pin(stack.call(get(format!("http://key-{key}/"))));
                    for _ in 0..3 {
                        if call.as_mut().poll(&mut context).is_ready() {
                            break;
                        }
                    }
                    drop(call);
                    let passer_by = get(format!("http://passer-by-{thread}-{turn}/"));
                    let _ = stack.call(passer_by).now_or_never();
                }
            });
        }
    });
    assert_eq!(most.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_at_any_poll_takes_nothing_with_it() {
    for polls in 0..8 {
        let keyed =
            KeyedLayer::per_host(|_| GateLayer::new(1).pace(per_second(1.0).burst(2)).hold_head());
        let handle = keyed.handle();
        let mut stack = keyed.layer(service_fn(async |_: Head| {
            sleep(1.ms()).await;
            sleep(1.ms()).await;
            Ok::<_, io::Error>(Response::new(()))
        }));
        let calls = [0; 2].map(|_| stack.call(get("http://a/")));
        let mut both = Box::pin(join_all(calls));
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..polls {
            if both.as_mut().poll(&mut context).is_ready() {
                break;
            }
            advance(1.ms()).await;
        }
        drop(both);
        // Whatever was sent has spent its token, and a second later there is room again.
        advance(2.s()).await;
        let gate = handle.get("a").unwrap();
        assert_eq!((gate.in_flight(), gate.waiting()), (0, 0), "{polls}");
        drop(gate.try_acquire().unwrap());
        drop(gate.try_acquire().unwrap());
        gate.try_acquire().unwrap_err();
        drop(gate);
        advance(10.s()).await;
        for _ in 0..2 {
            (0..2 * 64 * 4).for_each(|_| drop(handle.key(&passer_by())));
            advance(1.s()).await;
        }
        assert!(handle.get("a").is_none(), "{polls}");
    }
}

#[test]
fn keys_of_any_length_are_kept_whole_and_count_as_what_they_take() {
    let keyed = KeyedLayer::new(
        |request: &String| request.clone(),
        |_| {
            GateLayer::new(10)
                .pace(per_hour(1.0))
                .max_wait(0.s())
                .hold_head()
        },
    )
    .max_keys(2_100);
    let handle = keyed.handle();
    let mut stack = keyed.layer(service_fn(|_: String| ready(Ok::<_, Infallible>(()))));
    let mut send = |key: &str| stack.call(key.to_owned()).now_or_never().unwrap();
    let long = |first: char| first.to_string() + &"x".repeat((1 << 20) - 1);
    for key in ["", "\0", "*", " ", "ключ", &long('a'), &long('b')] {
        send(key).unwrap();
        let error = send(key).unwrap_err();
        assert_eq!(error.refused().unwrap().key.as_deref(), Some(key));
    }
    assert_eq!((handle.len(), handle.overflowed()), (7, 0));
    // 5 short ones and two that count as 1,025 each leave room for 45.
    let measured = measure(|| {
        for key in 'c'..='z' {
            send(&long(key)).ok();
        }
    });
    assert_eq!((handle.len(), handle.overflowed()), (7, 24));
    assert!(measured.bytes_current < 10_000, "{measured:?}");
    (0..45).for_each(|key| send(&key.to_string()).unwrap());
    assert_eq!((handle.len(), handle.overflowed()), (52, 24));
    send("one more").unwrap_err();
}

/// While the clock stands still nothing is idle: what is fresh makes room where there is none, and what
/// owes does not.
#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_keeps_debts_and_the_bound() {
    let keyed = KeyedLayer::per_host(|host| {
        if host.starts_with("owes") {
            strict(10, slow(1))
        } else {
            free()
        }
    })
    .max_keys(200);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    for host in 0..10_000 {
        send(&stack, &format!("host-{host}")).unwrap();
        if host % 100 == 0 {
            send(&stack, &format!("owes-{host}")).unwrap();
        }
    }
    let mut owing = 0;
    handle.for_each(|key, _| owing += usize::from(key.starts_with("owes")));
    assert_eq!((owing, handle.len(), handle.overflowed()), (100, 200, 0));
}

#[test]
fn ten_thousand_of_them_take_what_they_took_with_them() {
    let build = || {
        let stacks: Vec<_> = (0..10_000)
            .map(|number| {
                let keyed = KeyedLayer::per_host(|_| strict(1, slow(1)));
                let stack = keyed.layer(echo());
                if number % 100 == 0 {
                    (0..100).for_each(|host| send(&stack, &format!("host-{host}")).unwrap());
                }
                stack
            })
            .collect();
        drop(stacks);
    };
    build();
    assert_eq!(measure(build).bytes_current, 0);
}

/// A response that never comes keeps its key, and the set may go before it.
#[test]
fn a_request_may_outlive_the_set_that_it_went_through() {
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).hold_head());
    let mut stack = keyed.layer(service_fn(|_: Head| {
        pending::<Result<Response<()>, Infallible>>()
    }));
    let mut call = Box::pin(stack.call(get("http://a/")));
    assert!(call.as_mut().now_or_never().is_none());
    let gate = stack.handle().get("a").unwrap();
    drop((keyed, stack));
    assert_eq!(gate.in_flight(), 1);
    drop(call);
    assert_free(&gate, 1);
}

/// The tenant of a request, borrowed from it.
#[derive(Clone)]
struct Tenant;

impl Key<Head> for Tenant {
    fn with_key<T>(&self, request: &Head, look_up: impl FnOnce(&str) -> T) -> T {
        let tenant = request.headers().get("x-tenant");
        look_up(
            tenant
                .and_then(|tenant| tenant.to_str().ok())
                .unwrap_or_default(),
        )
    }
}

#[test]
fn a_key_that_is_borrowed_from_the_request_allocates_nothing() {
    let keyed = KeyedLayer::new(Tenant, |_| GateLayer::new(1).hold_head());
    let handle = keyed.handle();
    let mut stack = keyed.layer(service_fn(|request: Head| {
        ready(Ok::<_, Infallible>(request))
    }));
    let mut call = |request| stack.call(request).now_or_never().unwrap().unwrap();
    let request = Request::get("/")
        .header("x-tenant", "ann")
        .body(())
        .unwrap();
    let mut request = Some(call(request));
    let counted = measure(|| (0..1_000).for_each(|_| request = request.take().map(&mut call)));
    assert_eq!(counted.count_total, 0);
    assert!(handle.get("ann").is_some());
}

/// In any state that is shown, a key may be anything.
#[test]
fn what_is_shown_of_a_key_has_no_password_and_is_cut() {
    let keyed = KeyedLayer::new(|request: &String| request.clone(), |_| free());
    let handle = keyed.handle();
    let mut stack = keyed.layer(service_fn(|_: String| ready(Ok::<_, Infallible>(()))));
    let long = "x".repeat(1 << 20);
    for (key, shown) in [
        (
            "https://me:secret@a.example/v1?secret",
            "https://a.example/v1",
        ),
        ("a\nb", "a b"),
        (&*long, &*format!("{}…", &long[..99])),
    ] {
        let whole = key.to_owned();
        let gate = handle.key(key);
        assert_eq!(gate.key(), key);
        assert_eq!(
            format!("{gate:?}"),
            format!("KeyHandle {{ key: {shown:?}, .. }}")
        );
        let call = stack.call(whole);
        assert_eq!(
            format!("{call:?}"),
            format!("ResponseFuture {{ key: {shown:?}, .. }}")
        );
        let settings = Settings::new().key(key, KeySettings::new().limit(1));
        assert!(format!("{settings:?}").contains(&format!("({shown:?}, KeySettings")));
        handle.load(settings);
        for text in [
            format!("{handle:?}"),
            format!("{stack:?}"),
            format!("{keyed:?}"),
        ] {
            assert!(text.len() < 500 && !text.contains("secret"), "{text}");
        }
    }
}
