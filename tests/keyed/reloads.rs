//! A file of settings that is read again while requests run.

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

use futures_util::future::join_all;
use http::Response;
use tidegate::{ConfigError, GateLayer, KeyedHandle, KeyedLayer, Settings, Units, per_second};
use tidegate_testkit::most_in;
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use crate::get;
use crate::support::{assert_free, now};

/// A file that goes with the test.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let file = Self(env::temp_dir().join(format!("{name}-{}.toml", std::process::id())));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        fs::write(&self.0, text).unwrap();
    }

    fn read<L>(&self, handle: &KeyedHandle<L>) -> Result<Settings, ConfigError> {
        handle.read_settings(&self.0)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A slow host, whose pace is made four times as fast while forty requests wait for it, and another
/// that has nothing to do with it.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_read_again_under_load_refuses_nobody_and_lets_no_burst_through() {
    let file = File::new(
        "reload",
        "default = { limit = 8, per_second = 10, burst = 2 }\n[keys.'SLOW.example']\nper_second = 1\n",
    );
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).pace(per_second(100.0)).hold_head());
    let handle = keyed.handle();
    handle.load(file.read(&handle).unwrap());
    let stack = keyed.layer(service_fn(async |_: http::Request<()>| {
        let at = now();
        sleep(100.ms()).await;
        Ok::<_, io::Error>(Response::new(at))
    }));
    let started = now();
    let send = |host: &'static str| {
        let call = stack.clone().oneshot(get(format!("http://{host}/")));
        async move { call.await.unwrap().into_body() - started }
    };
    let reload = async {
        sleep(10_050.ms()).await;
        file.write("default = { limit = 8, per_second = 10, burst = 2 }\n[keys.'slow.example']\nper_second = 4\n");
        handle.load(file.read(&handle).unwrap());
        // And once more, with what makes no sense: what is in force stays.
        file.write("[keys.'slow.example']\nper_second = -4\n");
        let error = file.read(&handle).unwrap_err();
        assert_eq!(
            (error.line, error.key.as_deref()),
            (Some(2), Some("slow.example"))
        );
        assert_eq!(error.file, file.0);
    };
    let slow = join_all((0..51).map(|_| send("slow.example")));
    let other = join_all((0..152).map(|_| send("other.example")));
    let (slow, other, ()) = tokio::join!(slow, other, reload);
    // One a second, the last at 10 s; then what is left of a second's, at four times the pace; a timer
    // ticks in milliseconds.
    let expected = (0..51).map(|turn: u64| match turn {
        0..11 => turn.s(),
        _ => (10_288 + (turn - 11) * 250).ms(),
    });
    assert!(expected.eq(slow.iter().copied()), "{slow:?}");
    assert!(most_in(1.s(), slow) <= 4 + 1);
    // Ten a second and two from the bucket, without a stumble.
    assert_eq!(other[151], 15.s());
    assert!(most_in(1.s(), other) <= 10 + 2);
    for (host, limit) in [("slow.example", 8), ("other.example", 8)] {
        let gate = handle.get(host).unwrap();
        assert_eq!(gate.limit(), limit);
        assert_eq!((gate.in_flight(), gate.waiting()), (0, 0));
    }
    handle.set_for_all(tidegate::KeySettings::new().limit(3));
    handle.get("other.example").unwrap().set_pace(None);
    assert_free(&handle.get("other.example").unwrap(), 3);
}

#[tokio::test]
async fn a_key_that_is_written_as_a_url_is_that_of_its_host() {
    let text = "[keys.'https://User@API.example:443/v1/?page=2']\nlimit = 2\n";
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).hold_head());
    let handle = keyed.handle();
    handle.load(handle.parse_settings("limits.toml", text).unwrap());
    assert_eq!(handle.key("api.example").limit(), 2);
    handle.set(
        "http://other.example/",
        tidegate::KeySettings::new().limit(5),
    );
    assert_eq!(handle.key("other.example").limit(), 5);
    assert_eq!(
        handle.get("HTTPS://API.example/").unwrap().key(),
        "api.example"
    );
}
