//! Deciding without being followed.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tidegate::{Pid, Prober, Steer, Units, per_second};
use tidegate_testkit::{Fixed, Response, Upstream};
use tokio::sync::oneshot;
use tokio::time::{advance, sleep};
use tower::{Layer, ServiceExt, service_fn};

use crate::ground::get;
use crate::history::History;
use crate::tape::{Decision, Event, Tape, by_status, decision};
use crate::{each_law, each_layer};

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_limit_a_pause_or_a_pace_that_is_not_followed() {
    each_law!(new => {
        // Every other request is refused, and told to stay away.
        let upstream = Upstream::unlimited()
            .service_time(Fixed(10.ms()))
            .script(|_, nth| {
                let refusal = Response::new(429).header("retry-after", "3600");
                (nth % 2 == 0).then_some(refusal)
            })
            .start_in_process();
        let layer = new();
        let handle = layer.handle();
        let history = History::of(&handle);
        handle.shadow(true);
        assert!(handle.snapshot().shadow);
        let stack = layer.layer(upstream.direct());
        for _ in 0..20 {
            join_all((0..100).map(|_| stack.clone().oneshot(get("/")))).await;
        }
        let arrivals = upstream.arrivals();
        for (nth, arrival) in arrivals.iter().enumerate() {
            assert_eq!(arrival.at, (10 * (nth as u64 / 100)).ms());
        }
        // It would have been followed to an hour without a request.
        let asked = handle.setting();
        assert!(asked.pause_until.is_some() && asked.limit < 100.0, "{asked:?}");
        assert!(history.changes().iter().any(|(_, change)| change.reason.to_string().contains("stay away")));
        assert_eq!(handle.paused_until(), None);

        // The user's own pace holds all the same.
        handle.set_pace(Some(per_second(100.0)));
        join_all((0..20).map(|_| stack.clone().oneshot(get("/")))).await;
        let arrivals = upstream.arrivals();
        assert_eq!(arrivals[2_019].at, arrivals[2_000].at + 190.ms());
    });
}

/// Back from it the law is followed from where it then is.
#[tokio::test(start_paused = true)]
async fn one_that_is_followed_again_is_in_force_at_once() {
    each_law!(new => {
        let upstream = Upstream::unlimited().service_time(Fixed(10.ms())).start_in_process();
        let layer = new().max(3);
        let handle = layer.handle();
        handle.shadow(true);
        let stack = layer.layer(upstream.direct());
        join_all((0..100).map(|_| stack.clone().oneshot(get("/")))).await;
        assert_eq!(upstream.peak_in_flight(), 100);
        handle.shadow(false);
        assert_eq!(handle.limit(), handle.setting().limit as usize);
        sleep(1.s()).await;
        let from = upstream.arrivals().len();
        join_all((0..9).map(|_| stack.clone().oneshot(get("/")))).await;
        let arrivals = upstream.arrivals()[from..].to_vec();
        let width = tidegate_testkit::most_in(10.ms(), arrivals.iter().map(|arrival| arrival.at));
        assert_eq!(width, handle.limit());
    });
}

/// What the law of a layer decides on a tape: each request goes out when the tape says so.
macro_rules! play {
    ($tape:expr, $layer:expr) => {{
        let (tape, layer) = ($tape, $layer);
        let history = History::of(&layer.handle());
        let answers: Arc<Mutex<HashMap<u64, oneshot::Sender<u16>>>> = Arc::default();
        let sent = Arc::clone(&answers);
        let stack = layer.layer(service_fn(move |nth| {
            let (tell, told) = oneshot::channel();
            sent.lock().unwrap().insert(nth, tell);
            async move { told.await.map_err(io::Error::other) }
        }));
        let mut calls = HashMap::new();
        let mut at = Duration::ZERO;
        for (then, event) in &tape.events {
            advance(*then - at).await;
            at = *then;
            match *event {
                Event::Send => {
                    let nth = calls.len() as u64;
                    let mut call = Box::pin(stack.clone().oneshot(nth));
                    assert!(call.as_mut().now_or_never().is_none());
                    assert!(
                        answers.lock().unwrap().contains_key(&nth),
                        "{nth} had to wait"
                    );
                    calls.insert(nth, Some(call));
                }
                Event::Answer(nth, status) => {
                    let tell = answers.lock().unwrap().remove(&nth).unwrap();
                    tell.send(status).unwrap();
                    let call = calls.get_mut(&nth).unwrap().take().unwrap();
                    assert_eq!(call.now_or_never().unwrap().unwrap(), status);
                }
            }
        }
        let changes = history.changes();
        let decisions: Vec<Decision> = changes
            .iter()
            .map(|(at, change)| decision(*at, change))
            .collect();
        decisions
    }};
}

/// A probe is due every ten seconds: with this phase one falls into the tape.
const PHASE: Duration = Duration::from_secs(5);

/// With probes that do not depend on the time of day.
trait Anew {
    fn anew(&self) -> Self;
}

impl Anew for Pid {
    fn anew(&self) -> Self {
        Self::new(PHASE)
    }
}

impl Anew for Prober {
    fn anew(&self) -> Self {
        Self::new(PHASE)
    }
}

/// On one tape a law decides the same in a shadow layer, in a layer that follows it, and alone.
#[tokio::test(start_paused = true)]
async fn what_it_decides_is_what_it_decides_when_it_is_followed() {
    each_layer!(Layer, name => {
        let law = Layer::new(by_status).handle().law(|law| law.anew());
        let tape = Tape::record(law.clone());
        let why: Vec<_> = tape.decisions.iter().map(|decision| decision.3.as_str()).collect();
        for words in ["starting: one more", "in a queue", "probing at half", "no success", "after an outage"] {
            assert!(why.iter().any(|why| why.contains(words)), "{name}: {words}");
        }

        let followed = Layer::new(by_status).hold_head();
        followed.handle().law(|held| *held = law.clone());
        assert_eq!(play!(&tape, followed), tape.decisions);

        let shadow = Layer::new(by_status).hold_head();
        shadow.handle().law(|held| *held = law.clone());
        shadow.handle().shadow(true);
        assert_eq!(play!(&tape, shadow), tape.decisions);
    });
}
