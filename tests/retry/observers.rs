//! Who hears of retries.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidegate::Observer;
use tidegate_testkit::{Response, Upstream};
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::common::{answers, get, retry};

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<(u32, Duration)>>);

impl Observer for Heard {
    fn on_retry(&self, _: Instant, attempt: u32, after: Duration) {
        self.0.lock().unwrap().push((attempt, after));
    }
}

fn failing() -> Upstream {
    answers([Response::new(503), Response::new(503)]).start_in_process()
}

#[tokio::test(start_paused = true)]
async fn each_retry_is_told_with_its_number_and_its_delay_in_both_forms() {
    let (heard, upstream) = (Arc::new(Heard::default()), failing());
    let retry = || retry().observe(Arc::clone(&heard) as _);
    let told = [
        (2, Duration::from_millis(100)),
        (3, Duration::from_millis(200)),
    ];
    let layer = retry().layer(upstream.direct());
    assert!(layer.oneshot(get()).await.unwrap().status().is_success());
    assert_eq!(*heard.0.lock().unwrap(), told);

    heard.0.lock().unwrap().clear();
    let upstream = failing();
    let policy = ServiceBuilder::new().retry(retry().policy());
    let policy = policy.service(upstream.direct());
    assert!(policy.oneshot(get()).await.unwrap().status().is_success());
    assert_eq!(*heard.0.lock().unwrap(), told);
}
