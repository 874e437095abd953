use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::now;

/// What this thread says while it listens.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<All>>);

#[derive(Default)]
struct All {
    events: Vec<Line>,
    /// In the order in which they were over.
    spans: Vec<Line>,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) at: Instant,
    pub(crate) level: Level,
    pub(crate) fields: Fields,
    /// Whether it is within a span.
    pub(crate) within: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields(BTreeMap<&'static str, String>);

impl Heard {
    pub(crate) fn listen() -> (Self, DefaultGuard) {
        let heard = Self::default();
        let listening = heard.listen_too();
        (heard, listening)
    }

    /// In another thread.
    pub(crate) fn listen_too(&self) -> DefaultGuard {
        let subscriber = tracing_subscriber::registry().with(self.clone());
        tracing::subscriber::set_default(subscriber)
    }

    pub(crate) fn events(&self) -> Vec<Line> {
        self.0.lock().unwrap().events.clone()
    }

    pub(crate) fn spans(&self) -> Vec<Line> {
        self.0.lock().unwrap().spans.clone()
    }

    /// At info, warn and error.
    pub(crate) fn loud(&self) -> Vec<Line> {
        let mut loud = self.events();
        loud.extend(self.spans());
        loud.retain(|line| line.level <= Level::INFO);
        loud
    }
}

impl Line {
    /// A field as it is written, or nothing.
    pub(crate) fn get(&self, field: &str) -> &str {
        self.fields.0.get(field).map_or("", String::as_str)
    }

    pub(crate) fn count(&self, field: &str) -> u64 {
        self.get(field).parse().unwrap_or(0)
    }

    /// All of them, in the order of their names.
    pub(crate) fn words(&self) -> String {
        let words = self.fields.0.iter();
        let words: Vec<_> = words
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        words.join(" ")
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Heard {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        assert_eq!(event.metadata().target(), "tidegate");
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = Line {
            at: now(),
            level: *event.metadata().level(),
            fields,
            within: context.event_span(event).is_some(),
        };
        self.0.lock().unwrap().events.push(line);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        record.record(span.extensions_mut().get_mut::<Fields>().unwrap());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        let fields = span.extensions().get::<Fields>().unwrap().clone();
        let line = Line {
            at: now(),
            level: *span.metadata().level(),
            fields,
            within: span.parent().is_some(),
        };
        self.0.lock().unwrap().spans.push(line);
    }
}

/// Each is told once.
impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let twice = self.0.insert(field.name(), format!("{value:?}"));
        assert_eq!(twice, None, "{field}");
    }
}
