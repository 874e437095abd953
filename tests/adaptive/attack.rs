//! Code of others that fails within the layer, and calls back into it.

use std::error::Error as StdError;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{join_all, ready};
use http::HeaderMap;
use tidegate::{
    AdaptiveLayer, Cause, Change, Classify, Controller, Observer, Outcome, Sample, Setting, Steer,
    Units, Verdict, When, per_second,
};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use crate::each_layer;
use crate::ground::judge;
use crate::history::History;
use crate::support::{assert_free, now};

/// Panics where it is told to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    Request,
    Response,
    Error,
    End,
    Nowhere,
}

#[derive(Clone, Debug)]
struct Shaky(Arc<Mutex<Where>>);

impl Shaky {
    fn stumble(&self, here: Where) {
        let place = *self.0.lock().unwrap();
        assert_ne!(place, here, "as the test asks");
    }
}

impl Classify<bool, u32> for Shaky {
    type Call = ();

    fn request(&self, _: &bool) {
        self.stumble(Where::Request);
    }

    fn response(&self, (): &mut (), _: &u32) -> When {
        self.stumble(Where::Response);
        When::AtEnd
    }

    fn error(&self, (): &mut (), _: &(dyn StdError + 'static)) -> Verdict {
        self.stumble(Where::Error);
        Outcome::Failure.into()
    }

    fn end(&self, (): &mut (), _: Option<&HeaderMap>) -> Verdict {
        self.stumble(Where::End);
        Outcome::Success.into()
    }
}

#[tokio::test(start_paused = true)]
async fn a_classifier_that_panics_frees_the_place_and_each_request_sent_is_a_sample() {
    each_layer!(Layer, name => {
        let place = Arc::new(Mutex::new(Where::Nowhere));
        let layer = Layer::new(Shaky(Arc::clone(&place))).hold_head();
        let history = History::of(&layer.handle());
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        let stack = layer.layer(service_fn(move |fails: bool| {
            counted.fetch_add(1, SeqCst);
            async move {
                sleep(10.ms()).await;
                if fails { Err(io::Error::other("reset")) } else { Ok(4) }
            }
        }));
        for here in [Where::Request, Where::Response, Where::Error, Where::End] {
            *place.lock().unwrap() = here;
            let stack = stack.clone();
            let call = tokio::spawn(async move { stack.oneshot(here == Where::Error).await });
            assert!(call.await.unwrap_err().is_panic(), "{name}: {here:?}");
            assert_free(&layer.handle(), 1);
            assert_eq!(history.outcomes().len() as u64, sent.load(SeqCst), "{name}: {here:?}");
        }
        *place.lock().unwrap() = Where::Nowhere;
        stack.oneshot(false).await.unwrap();
        assert_eq!(history.outcomes().last(), Some(&Outcome::Success));
        assert_eq!(layer.handle().limit(), 2);
    });
}

/// Grows by one with each sample, and panics at the third start and at the fifth sample.
#[derive(Debug, Default)]
struct Fragile {
    starts: u32,
    samples: u32,
}

impl Controller for Fragile {
    fn on_start(&mut self, _now: Instant, _in_flight: usize) {
        self.starts += 1;
        assert_ne!(self.starts, 3, "as the test asks");
    }

    fn on_sample(&mut self, _now: Instant, _sample: &Sample) -> Option<Change> {
        let from = self.setting();
        self.samples += 1;
        assert_ne!(self.samples, 5, "as the test asks");
        let to = self.setting();
        Some(Change {
            from,
            to,
            reason: tidegate::Reason::Other("one more"),
        })
    }

    fn setting(&self) -> Setting {
        Setting::limit(f64::from(1 + self.samples))
    }

    fn move_to(&mut self, _now: Instant, _limit: f64) {}
}

#[tokio::test(start_paused = true)]
async fn a_law_that_panics_frees_the_place_and_goes_on() {
    let layer = AdaptiveLayer::new("fragile", judge, Fragile::default()).hold_head();
    let stack = layer.layer(service_fn(|()| ready(Ok::<_, io::Error>(4))));
    let mut panics = Vec::new();
    for nth in 1..=10 {
        if tokio::spawn(stack.clone().oneshot(())).await.is_err() {
            panics.push(nth);
        }
        assert_eq!(
            (layer.handle().in_flight(), layer.handle().waiting()),
            (0, 0)
        );
    }
    // The third never was a sample, so the fifth sample is the sixth request's.
    assert_eq!(panics, [3, 6]);
    assert_eq!(layer.handle().limit(), 10);
    assert_free(&layer.handle(), 10);
}

/// Does with its handle whatever can be done, whenever it hears something.
struct Meddler<F>(F, AtomicBool);

impl<F> std::fmt::Debug for Meddler<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meddler")
    }
}

impl<F: Fn()> Meddler<F> {
    /// What it does is heard by itself.
    fn meddle(&self) {
        if !self.1.swap(true, SeqCst) {
            (self.0)();
            self.1.store(false, SeqCst);
        }
    }
}

impl<F: Fn() + Send + Sync> Observer for Meddler<F> {
    fn on_sample(&self, _now: Instant, _sample: &Sample) {
        self.meddle();
    }

    fn on_change(&self, _now: Instant, _change: &Change) {
        self.meddle();
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_do_all_that_a_handle_can() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).start(4).hold_head();
        let history = History::of(&layer.handle());
        let handle = Arc::new(Mutex::new(Some(layer.handle())));
        let held = Arc::clone(&handle);
        let count = AtomicU64::new(0);
        layer.handle().observe(Arc::new(Meddler(move || {
            let Some(handle) = held.lock().unwrap().clone() else { return };
            let nth = count.fetch_add(1, SeqCst);
            handle.set_limit(1 + nth as usize % 20);
            handle.set_max_limit(10 + nth as usize % 5).unwrap();
            handle.set_min_limit(1 + nth as usize % 3).unwrap();
            handle.set_pace(nth.is_multiple_of(2).then(|| per_second(1_000.0)));
            handle.pause_until(now().into_std() + 1.ms());
            handle.freeze();
            handle.shadow(nth.is_multiple_of(2));
            let _ = (handle.snapshot(), handle.setting(), handle.is_frozen(), handle.is_shadow());
            handle.law(|law| law.clone());
            handle.resume();
            handle.observe(Arc::new(Meddler(|| {}, AtomicBool::new(false))));
        }, AtomicBool::new(false))));
        let stack = layer.layer(service_fn(async |()| {
            sleep(10.ms()).await;
            Ok::<_, io::Error>(4)
        }));
        join_all((0..100).map(|_| stack.clone().oneshot(()))).await;
        assert_eq!(history.outcomes(), [Outcome::Success; 100]);
        // Or the two would keep each other.
        *handle.lock().unwrap() = None;
        let handle = layer.handle();
        handle.shadow(false);
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
        assert!((1..=14).contains(&handle.limit()), "{}", handle.limit());
    });
}

/// No time passes from one answer to the next.
#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_stops_no_law() {
    each_layer!(Layer, name => {
        let layer = Layer::new(judge).start(100).hold_head();
        let handle = layer.handle();
        let started = now();
        let fails = AtomicBool::new(false);
        let stack = layer.layer(service_fn(|()| {
            let answer = if fails.load(SeqCst) { Err(io::Error::other("reset")) } else { Ok(4) };
            ready(answer)
        }));
        for _ in 0..2_000 {
            stack.clone().oneshot(()).await.unwrap();
        }
        assert!((1..=5_000).contains(&handle.limit()), "{name}");
        handle.set_limit(100);
        fails.store(true, SeqCst);
        let mut refused = 0;
        while handle.limit() > 1 {
            assert!(stack.clone().oneshot(()).now_or_never().unwrap().is_err());
            refused += 1;
            assert!(refused < 1_000, "{name}: {}", handle.limit());
        }
        fails.store(false, SeqCst);
        handle.end_pause();
        for _ in 0..100 {
            stack.clone().oneshot(()).now_or_never().unwrap().unwrap();
        }
        assert!(handle.setting().limit.is_finite());
        assert_eq!((now() - started, handle.in_flight()), (0.ms(), 0));
    });
}

/// The law was told of a lost connection for each.
#[tokio::test(start_paused = true)]
async fn what_is_refused_faster_than_the_clock_ticks_is_heard_once_each() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).start(50).hold_head();
        let history = History::of(&layer.handle());
        let stack = layer.layer(service_fn(|()| ready(Err::<u32, _>(io::Error::other("reset")))));
        join_all((0..50).map(|_| stack.clone().oneshot(()))).await;
        assert_eq!(history.outcomes(), [Outcome::Overload(Cause::Connection); 50]);
        assert_eq!(layer.handle().in_flight(), 0);
    });
}
