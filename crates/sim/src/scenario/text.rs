//! From the text of a file to a [`Scenario`], with a place for everything that is wrong.

use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::scalar::{Number, Spread, Time, Whole};
use crate::scenario::{
    Background, Dump, Load, Piece, Scenario, ScenarioError, Server, ServerKind, Step,
};

/// The most that a batch may take, unless the file says otherwise.
const BATCH: Duration = Duration::from_secs(400);

/// The most clients that one scenario may have.
const CLIENTS: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    id: String,
    rtt: Time,
    rtt_jitter: Option<Spread>,
    duration: Option<Spanned<Time>>,
    timeout: Option<Spanned<Time>>,
    clients: Option<Spanned<Vec<Time>>>,
    server: Spanned<ServerText>,
    load: Spanned<LoadText>,
    #[serde(default)]
    step: Vec<Spanned<StepText>>,
    background: Option<BackgroundText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerText {
    kind: Kind,
    service: Spread,
    reject: Option<Spanned<Whole>>,
    retry_after: Option<Time>,
    workers: Option<Spanned<Whole>>,
    queue: Option<Spanned<Whole>>,
    capacity: Option<Spanned<Number>>,
    alpha: Option<Spanned<Number>>,
    beta: Option<Spanned<Number>>,
    rate: Option<Spanned<Number>>,
    burst: Option<Spanned<Number>>,
    limit: Option<Spanned<Whole>>,
    per: Option<Spanned<Time>>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Fifo,
    Ps,
    Usl,
    Bucket,
    Window,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadText {
    kind: LoadKind,
    requests: Option<Spanned<Whole>>,
    rate: Option<Spanned<Vec<PieceText>>>,
    dumps: Option<Spanned<Vec<DumpText>>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LoadKind {
    Closed,
    Batch,
    Open,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceText {
    from: Time,
    per_second: Spanned<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DumpText {
    at: Time,
    requests: Whole,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    at: Time,
    capacity: Option<Spanned<Number>>,
    #[serde(default)]
    silent: bool,
    rtt: Option<Time>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundText {
    share: Spanned<Number>,
    status: Spanned<Whole>,
}

/// What is wrong, and where it starts.
struct Wrong {
    at: usize,
    message: String,
}

fn wrong(span: &Range<usize>, message: impl Into<String>) -> Wrong {
    Wrong {
        at: span.start,
        message: message.into(),
    }
}

pub(super) fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let place = |wrong: Wrong| place(text, wrong);
    let parsed: Text = toml::from_str(text).map_err(|error| {
        place(Wrong {
            at: error.span().map_or(0, |span| span.start),
            message: error.message().to_owned(),
        })
    })?;
    scenario(parsed).map_err(place)
}

fn place(text: &str, wrong: Wrong) -> ScenarioError {
    let line = text.bytes().take(wrong.at).filter(|&b| b == b'\n').count() + 1;
    let mut key = String::new();
    if let Ok(table) = DeTable::parse(text) {
        find(table.get_ref(), wrong.at, "", &mut key);
    }
    ScenarioError {
        file: None,
        line,
        key,
        message: wrong.message,
    }
}

/// The deepest key whose name or value covers the offset `at`.
fn find(table: &DeTable<'_>, at: usize, above: &str, found: &mut String) {
    for (name, value) in table {
        let key = if above.is_empty() {
            name.get_ref().to_string()
        } else {
            format!("{above}.{}", name.get_ref())
        };
        if name.span().contains(&at) || value.span().contains(&at) {
            found.clone_from(&key);
        }
        inside(value.get_ref(), at, &key, found);
    }
}

fn inside(value: &DeValue<'_>, at: usize, key: &str, found: &mut String) {
    match value {
        DeValue::Table(table) => find(table, at, key, found),
        DeValue::Array(items) => {
            for item in items.iter() {
                if item.span().contains(&at) {
                    key.clone_into(found);
                }
                inside(item.get_ref(), at, key, found);
            }
        }
        _ => {}
    }
}

fn scenario(text: Text) -> Result<Scenario, Wrong> {
    let load_span = text.load.span();
    let load = load(text.load)?;
    let duration = match (&text.duration, &load) {
        (Some(duration), _) if duration.get_ref().0.is_zero() => {
            return Err(wrong(&duration.span(), "expected a duration above zero"));
        }
        (Some(duration), _) => duration.get_ref().0,
        (None, Load::Batch { .. }) => BATCH,
        (None, Load::Closed | Load::Open { .. }) => {
            return Err(wrong(
                &load_span,
                "expected a `duration` at the top of the file: only a batch ends by itself",
            ));
        }
    };
    if let Some(timeout) = &text.timeout
        && timeout.get_ref().0.is_zero()
    {
        return Err(wrong(&timeout.span(), "expected a timeout above zero"));
    }
    let mut steps = text
        .step
        .into_iter()
        .map(step)
        .collect::<Result<Vec<_>, _>>()?;
    steps.sort_by_key(|step| step.at);
    Ok(Scenario {
        id: text.id,
        rtt: text.rtt.0,
        rtt_jitter: text.rtt_jitter.map(|jitter| jitter.0),
        duration,
        timeout: text.timeout.map(|timeout| timeout.into_inner().0),
        clients: clients(text.clients)?,
        server: server(text.server)?,
        load,
        steps,
        background: text.background.map(background).transpose()?,
    })
}

fn clients(clients: Option<Spanned<Vec<Time>>>) -> Result<Vec<Duration>, Wrong> {
    let Some(clients) = clients else {
        return Ok(vec![Duration::ZERO]);
    };
    let span = clients.span();
    let times: Vec<_> = clients
        .into_inner()
        .into_iter()
        .map(|time| time.0)
        .collect();
    if times.is_empty() || times.len() > CLIENTS {
        return Err(wrong(
            &span,
            format!("expected the join times of 1 to {CLIENTS} clients"),
        ));
    }
    Ok(times)
}

fn status(status: &Spanned<Whole>) -> Result<u16, Wrong> {
    let code = status.get_ref().0;
    if (400..600).contains(&code) {
        return Ok(code as u16);
    }
    Err(wrong(
        &status.span(),
        format!("expected an HTTP status from 400 to 599, not {code}"),
    ))
}

fn background(text: BackgroundText) -> Result<Background, Wrong> {
    let share = text.share.get_ref().0;
    if !(0.0..1.0).contains(&share) {
        return Err(wrong(
            &text.share.span(),
            "expected a share from 0 to below 1",
        ));
    }
    Ok(Background {
        share,
        status: status(&text.status)?,
    })
}

fn step(text: Spanned<StepText>) -> Result<Step, Wrong> {
    let span = text.span();
    let text = text.into_inner();
    if text.capacity.is_none() && text.rtt.is_none() {
        return Err(wrong(&span, "expected a `capacity` or an `rtt`"));
    }
    let capacity = text.capacity.as_ref().map(at_least_zero).transpose()?;
    if text.silent && capacity != Some(0.0) {
        return Err(wrong(
            &span,
            "expected `capacity = 0` beside `silent`: only an outage is silent",
        ));
    }
    Ok(Step {
        at: text.at.0,
        capacity,
        silent: text.silent,
        rtt: text.rtt.map(|rtt| rtt.0),
    })
}

fn at_least_zero(number: &Spanned<Number>) -> Result<f64, Wrong> {
    let value = number.get_ref().0;
    if value >= 0.0 {
        return Ok(value);
    }
    Err(wrong(
        &number.span(),
        format!("expected a number of at least 0, not {value}"),
    ))
}

fn load(text: Spanned<LoadText>) -> Result<Load, Wrong> {
    let span = text.span();
    let LoadText {
        kind,
        requests,
        rate,
        dumps,
    } = text.into_inner();
    let keys = Keys::of("load", format!("{kind:?}").to_lowercase(), span);
    let load = match kind {
        LoadKind::Closed => Load::Closed,
        LoadKind::Batch => {
            let requests = keys.need("requests", &requests)?;
            if requests.0 == 0 {
                return Err(wrong(&keys.span, "expected at least one request"));
            }
            Load::Batch {
                requests: u64::from(requests.0),
            }
        }
        LoadKind::Open => Load::Open {
            rate: pieces(keys.need("rate", &rate)?)?,
            dumps: dumps.iter().flat_map(Spanned::get_ref).map(dump).collect(),
        },
    };
    if !matches!(kind, LoadKind::Batch) {
        keys.refuse("requests", requests.as_ref())?;
    }
    if !matches!(kind, LoadKind::Open) {
        keys.refuse("rate", rate.as_ref())?;
        keys.refuse("dumps", dumps.as_ref())?;
    }
    Ok(load)
}

fn dump(text: &DumpText) -> Dump {
    Dump {
        at: text.at.0,
        requests: u64::from(text.requests.0),
    }
}

fn pieces(text: &[PieceText]) -> Result<Vec<Piece>, Wrong> {
    let mut pieces = Vec::with_capacity(text.len());
    for piece in text {
        pieces.push(Piece {
            from: piece.from.0,
            per_second: at_least_zero(&piece.per_second)?,
        });
    }
    pieces.sort_by_key(|piece| piece.from);
    Ok(pieces)
}

/// Which keys a table of one kind needs, and which it may not have.
struct Keys {
    table: &'static str,
    kind: String,
    span: Range<usize>,
}

impl Keys {
    fn of(table: &'static str, kind: String, span: Range<usize>) -> Self {
        Self { table, kind, span }
    }

    fn need<'a, T>(&self, key: &str, value: &'a Option<Spanned<T>>) -> Result<&'a T, Wrong> {
        value.as_ref().map(Spanned::get_ref).ok_or_else(|| {
            let Self { table, kind, span } = self;
            wrong(
                span,
                format!("expected `{key}`, which a {table} of kind \"{kind}\" needs"),
            )
        })
    }

    fn refuse<T>(&self, key: &str, value: Option<&Spanned<T>>) -> Result<(), Wrong> {
        let Some(value) = value else { return Ok(()) };
        let Self { table, kind, .. } = self;
        Err(wrong(
            &value.span(),
            format!("expected no `{key}`: a {table} of kind \"{kind}\" has none"),
        ))
    }

    fn positive(&self, key: &str, value: &Option<Spanned<Number>>) -> Result<f64, Wrong> {
        self.above(key, value, 0.0)
    }

    fn above(&self, key: &str, value: &Option<Spanned<Number>>, floor: f64) -> Result<f64, Wrong> {
        let number = self.need(key, value)?.0;
        let span = value.as_ref().map_or(self.span.clone(), Spanned::span);
        if number > floor {
            return Ok(number);
        }
        Err(wrong(
            &span,
            format!("expected a number above {floor}, not {number}"),
        ))
    }

    fn from_zero(&self, key: &str, value: &Option<Spanned<Number>>) -> Result<f64, Wrong> {
        self.need(key, value)?;
        value.as_ref().map_or(Ok(0.0), at_least_zero)
    }

    fn count(&self, key: &str, value: &Option<Spanned<Whole>>) -> Result<u32, Wrong> {
        let count = self.need(key, value)?.0;
        let span = value.as_ref().map_or(self.span.clone(), Spanned::span);
        if count > 0 {
            return Ok(count);
        }
        Err(wrong(&span, "expected at least 1"))
    }
}

fn server(text: Spanned<ServerText>) -> Result<Server, Wrong> {
    let span = text.span();
    let text = text.into_inner();
    let keys = Keys::of("server", format!("{:?}", text.kind).to_lowercase(), span);
    let kind = server_kind(&keys, &text)?;
    refuse_others(&keys, &text)?;
    let reject = text.reject.as_ref().map(status).transpose()?;
    Ok(Server {
        reject: reject.unwrap_or(if kind.rate().is_some() { 429 } else { 503 }),
        kind,
        service: text.service.0,
        retry_after: text.retry_after.map(|wait| wait.0),
    })
}

fn server_kind(keys: &Keys, text: &ServerText) -> Result<ServerKind, Wrong> {
    Ok(match text.kind {
        Kind::Fifo => ServerKind::Fifo {
            workers: keys.count("workers", &text.workers)?,
            queue: text.queue.as_ref().map(|queue| queue.get_ref().0),
        },
        Kind::Ps => ServerKind::Ps {
            capacity: keys.positive("capacity", &text.capacity)?,
        },
        Kind::Usl => ServerKind::Usl {
            alpha: keys.from_zero("alpha", &text.alpha)?,
            beta: keys.from_zero("beta", &text.beta)?,
        },
        Kind::Bucket => ServerKind::Bucket {
            rate: keys.positive("rate", &text.rate)?,
            burst: keys.above("burst", &text.burst, 1.0 - f64::EPSILON)?,
        },
        Kind::Window => ServerKind::Window {
            limit: keys.count("limit", &text.limit)?,
            per: window(keys, text)?,
        },
    })
}

fn window(keys: &Keys, text: &ServerText) -> Result<Duration, Wrong> {
    let per = keys.need("per", &text.per)?.0;
    if per.is_zero() {
        return Err(wrong(&keys.span, "expected a `per` above zero"));
    }
    Ok(per)
}

fn refuse_others(keys: &Keys, text: &ServerText) -> Result<(), Wrong> {
    let kind = text.kind;
    if kind != Kind::Fifo {
        keys.refuse("workers", text.workers.as_ref())?;
        keys.refuse("queue", text.queue.as_ref())?;
    }
    if kind != Kind::Ps {
        keys.refuse("capacity", text.capacity.as_ref())?;
    }
    if kind != Kind::Usl {
        keys.refuse("alpha", text.alpha.as_ref())?;
        keys.refuse("beta", text.beta.as_ref())?;
    }
    if kind != Kind::Bucket {
        keys.refuse("rate", text.rate.as_ref())?;
        keys.refuse("burst", text.burst.as_ref())?;
    }
    if kind != Kind::Window {
        keys.refuse("limit", text.limit.as_ref())?;
        keys.refuse("per", text.per.as_ref())?;
    }
    Ok(())
}
