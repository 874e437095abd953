//! How often a door warns: a program of its own, since all doors of a process share that.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_admission::Door;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// When this thread warned.
#[derive(Clone)]
struct Lines(Arc<Mutex<Vec<Instant>>>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.lock().unwrap().push(now());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[expect(clippy::disallowed_methods, reason = "the clock of the test")]
fn now() -> Instant {
    Instant::now()
}

#[tokio::test(start_paused = true)]
async fn twenty_doors_whose_bodies_nobody_reads_write_one_line_a_second_together() {
    let lines = Lines(Arc::default());
    let _listening = tracing::subscriber::set_default(lines.clone());
    let origin = now();
    let mut held = Vec::new();
    for _ in 0..20 {
        let door = Door::new("gate", 1);
        let place = door.try_acquire(1).unwrap().into_place();
        place.body_opened();
        held.push(place);
        tokio::spawn(async move { door.acquire(1).await });
        sleep(Duration::from_millis(100)).await;
    }
    sleep_until(origin + Duration::from_millis(5_900)).await;
    let times: Vec<_> = lines
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|at| (*at - origin).as_millis())
        .collect();
    // Each would warn once a second, from its third on.
    assert_eq!(times, [2_000, 3_000, 4_000, 5_000]);
}
