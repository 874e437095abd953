//! What others wrote does nothing in a log, and secrets are not there.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tidegate_core::{Change, Observer as _, Reason, Refused, RefusedReason, Setting, Units};
use tidegate_gate::GateLayer;
use tidegate_keyed::KeyedLayer;
use tidegate_tracing::{Events, SpanLayer};
use tower::{ServiceBuilder, ServiceExt, service_fn};
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::now;

/// What a subscriber writes.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        let log = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        log.lines().map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Everything that can be said of a stack in which all is `words`, in lines of text.
async fn say(words: &'static str, reason: &'static str) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(log.clone())
        .without_time()
        .with_ansi(false)
        .finish();
    let listening = tracing::subscriber::set_default(subscriber);
    everything(words, reason).await;
    drop(listening);
    log.lines()
}

/// All is `words` but for the reason of a law, which is a constant of the program.
pub(crate) async fn everything(words: &'static str, reason: &'static str) {
    let events = Events::new(words).key(words);
    let (from, to) = (Setting::limit(1.0), Setting::limit(2.0));
    let reason = Reason::Other(reason);
    let at = now().into_std();
    events.on_change(at, &Change { from, to, reason });
    events.on_wait(at, 1.s());
    events.on_retry(at, 2, 1.s());
    events.on_gave_up(at, "budget", 2);
    let refused = Refused::new("gate", RefusedReason::Closed).key(words.into());
    events.on_refused(at, &refused, 1.s());
    Events::new(words).on_refused(at, &refused, 1.s());

    let keyed = KeyedLayer::new(
        move |_: &http::Request<()>| words,
        move |key| {
            let gate = GateLayer::new(1).hold_head();
            Events::new("stack").key(key).attach(&gate.handle());
            gate
        },
    );
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new().name(words))
        .layer(keyed.clone());
    let stack = stack.service(service_fn(move |_: http::Request<()>| async move {
        Err::<http::Response<()>, _>(io::Error::other(words))
    }));
    let method = http::Method::from_bytes("M".repeat(1_000_000).as_bytes()).unwrap();
    let request = || {
        let host = "a".repeat(50_000);
        let uri = format!("https://me:secret@{host}/secret/v1?key=secret");
        let request = http::Request::builder().method(method.clone()).uri(uri);
        let request = request.header("authorization", "Bearer secret");
        request.body(()).unwrap()
    };
    assert!(stack.clone().oneshot(request()).await.is_err());
    keyed.handle().key(words).close();
    let error = stack.oneshot(request()).await.unwrap_err();
    assert!(error.refused().is_some());
}

/// What others may call a stack or a key.
pub(crate) fn hostile() -> [&'static str; 4] {
    [
        "</script><script>alert(1)</script>",
        "a\nERROR forged\r\nb\0\u{1b}[31mred\u{202e}\u{2028}\u{7f}\u{9b}",
        "\" stack=\"other\" '`\\",
        Box::leak("tide ".repeat(200_000).into_boxed_str()),
    ]
}

#[tokio::test(start_paused = true)]
async fn hostile_names_and_errors_stay_on_their_lines() {
    let lines = say("tide", "tide").await;
    for words in hostile() {
        let said = say(words, words).await;
        assert_eq!(said.len(), lines.len(), "{said:#?}");
        for line in &said {
            assert!(line.len() < 1_000, "{line}");
            assert!(line.contains("tidegate: "), "{line}");
            assert!(!line.contains(|c: char| c.is_control()), "{line}");
            assert!(!line.contains(['\u{202e}', '\u{2028}']), "{line}");
            assert!(!line.contains("stack=\"other\""), "{line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn queries_and_credentials_are_not_there() {
    for words in [
        "https://me:secret@api.example/v1?key=secret#secret",
        "me:secret@api.example",
        "api.example?token=secret",
        "error sending request for url (https://api.example/v1?key=secret)",
    ] {
        for line in say(words, "tide").await {
            assert!(!line.contains("secret"), "{line}");
        }
    }
}
