//! A layer for each key, in a bounded number of label sets.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidegate_core::{Observer, Pace, Refused, RefusedReason, Snapshot, Steer};
use tidegate_gate::GateLayer;
use tidegate_keyed::KeyedLayer;
use tidegate_metrics::Metrics;
use tidegate_rate::RateLayer;

use crate::rendered::Recorded;

const STACK: (&str, &str) = ("tidegate_stack", "crawl");
const REFUSED: &str = "tidegate_gate_refused_total";

fn of_key(key: &str) -> [(&str, &str); 3] {
    [STACK, ("tidegate_key", key), ("tidegate_reason", "no_room")]
}

/// A gate of that key that refuses so often.
fn refuse(metrics: &Metrics, key: &str, times: u32) {
    let gate = GateLayer::new(1).handle();
    metrics.key(key).attach(&gate);
    let _inside = gate.try_acquire().unwrap();
    (0..times).for_each(|_| drop(gate.try_acquire().unwrap_err()));
}

/// Tells nobody but the test what happens.
#[derive(Debug, Default)]
struct Told(Mutex<Option<Arc<dyn Observer>>>);

impl Steer for Told {
    fn snapshot(&self) -> Snapshot {
        Snapshot::new(1)
    }

    fn set_limit(&self, _limit: usize) {}

    fn set_pace(&self, _pace: Option<Pace>) {}

    fn pause_until(&self, _until: Instant) {}

    fn observe(&self, observer: Arc<dyn Observer>) {
        *self.0.lock().unwrap() = Some(observer);
    }
}

impl Told {
    fn refuse(&self) {
        let observer = self.0.lock().unwrap().clone().unwrap();
        let refused = Refused::new("secret", RefusedReason::NoRoom).key(Arc::from("token=secret"));
        observer.on_refused(now(), &refused, Duration::ZERO);
    }
}

#[expect(clippy::disallowed_methods, reason = "any moment will do")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn of_a_million_keys_the_three_hot_ones_have_a_name_and_nothing_is_lost() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl").top_keys(20);
    let attach = |key: &str| {
        let told = Told::default();
        metrics.key(key).attach(&told);
        told
    };
    // Half of the places go to those that come first.
    let first: Vec<_> = (0..10).map(|key| attach(&format!("first-{key}"))).collect();
    let hot: Vec<_> = (0..3).map(|key| attach(&format!("hot-{key}"))).collect();
    for key in 0..1_000_000 {
        attach(&format!("{key}.example")).refuse();
        if key % 1_000 == 0 {
            hot.iter().for_each(Told::refuse);
        }
    }
    first.iter().for_each(Told::refuse);
    let keys = recorded.values_of("tidegate_key");
    assert!(keys.len() <= 21, "{keys:?}");
    for hot in ["hot-0", "hot-1", "hot-2"] {
        assert!(keys.iter().any(|key| key == hot), "{keys:?}");
    }
    assert_eq!(recorded.total(REFUSED), 1_000_000.0 + 3.0 * 1_000.0 + 10.0);
}

#[test]
fn few_keys_all_have_a_name_from_the_first_event_on() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    for key in ["a", "b", "c"] {
        refuse(&metrics, key, 1);
        assert_eq!(recorded.value(REFUSED, &of_key(key)), 1.0);
    }
    assert_eq!(recorded.value(REFUSED, &of_key("other")), 0.0);
}

#[test]
fn what_counted_into_other_stays_there_when_the_key_has_a_name() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl").top_keys(2);
    refuse(&metrics, "first", 1);
    refuse(&metrics, "hot", 150);
    assert_eq!(recorded.value(REFUSED, &of_key("other")), 99.0);
    assert_eq!(recorded.value(REFUSED, &of_key("hot")), 51.0);
    refuse(&metrics, "late", 1_000);
    assert_eq!(recorded.value(REFUSED, &of_key("other")), 1_099.0);
}

#[test]
fn other_has_no_gauges_and_a_key_that_comes_back_has_its_own_again() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl").top_keys(1);
    let limit = |key| recorded.find("tidegate_gate_limit", &[STACK, ("tidegate_key", key)]);
    refuse(&metrics, "a", 1);
    refuse(&metrics, "b", 1);
    metrics.refresh();
    assert_eq!(
        (limit("a"), limit("b"), limit("other")),
        (Some(0.0), None, None)
    );
    let gate = GateLayer::new(5).handle();
    metrics.key("a").attach(&gate);
    assert_eq!(limit("a"), Some(5.0));
}

#[test]
fn a_gate_and_a_rate_of_one_key_share_its_name() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("crawl").top_keys(1);
    let (gate, rate) = (
        GateLayer::new(1).handle(),
        RateLayer::per_second(1.0).handle(),
    );
    metrics.key("a").attach(&gate);
    metrics.key("a").attach(&rate);
    let key = [STACK, ("tidegate_key", "a")];
    assert_eq!(recorded.value("tidegate_gate_limit", &key), 1.0);
    let pace = [key[0], key[1], ("tidegate_pace_number", "0")];
    assert_eq!(
        recorded.value("tidegate_rate_pace_count_per_second", &pace),
        1.0
    );
}

#[test]
fn a_key_that_a_keyed_layer_forgets_is_freed() {
    let _recorded = Recorded::new();
    let metrics = Metrics::new("crawl");
    let keyed = {
        let metrics = metrics.clone();
        KeyedLayer::per_host(move |host| {
            let gate = GateLayer::new(1);
            metrics.key(host).attach(&gate.handle());
            gate
        })
        .max_keys(1)
    };
    let handle = keyed.handle();
    for host in 0..100 {
        drop(handle.key(&format!("{host}.example")));
    }
    assert_eq!((handle.len(), handle.overflowed()), (1, 0));
}

#[test]
fn hostile_keys_and_names_are_one_short_line_without_secrets() {
    let recorded = Recorded::new();
    let metrics = Metrics::new("cr\nawl\"}");
    let megabyte = "x".repeat(1 << 20);
    for key in [
        "https://me:secret@a.example/path?token=secret#secret",
        "two\nlines\u{2028}\u{202E}",
        "\"} 1\n# TYPE evil counter",
        "<script>alert('1')</script>",
        "back\\slash\\",
        &megabyte,
    ] {
        refuse(&metrics, key, 1);
    }
    let lines = recorded.lines();
    assert!(
        !lines
            .iter()
            .any(|line| line.contains("secret") || line.contains('\u{202E}'))
    );
    assert!(lines.iter().all(|line| line.len() < 400));
    let names = [
        "# HELP tidegate_gate_",
        "# TYPE tidegate_gate_",
        "tidegate_gate_",
    ];
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let name = names.iter().find_map(|name| line.strip_prefix(name));
        assert!(name.is_some(), "{line}");
        if let Some((_, value)) = line.strip_prefix("tidegate").and(line.rsplit_once(' ')) {
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
    // Each of them counted.
    assert_eq!(recorded.total(REFUSED), 6.0);
    let url = "tidegate_key=\"https://a.example/path\"";
    assert!(lines.iter().any(|line| line.contains(url)), "{lines:#?}");
}

#[test]
fn a_text_of_a_refusal_is_no_label() {
    let recorded = Recorded::new();
    let told = Told::default();
    Metrics::new("crawl").attach(&told);
    told.refuse();
    let lines = recorded.lines();
    assert!(!lines.iter().any(|line| line.contains("secret")));
    let labels = [STACK, ("tidegate_reason", "no_room")];
    assert_eq!(recorded.value(REFUSED, &labels), 1.0);
}
