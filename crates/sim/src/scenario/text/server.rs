use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::keys::Keys;
use super::place::Wrong;
use super::{above_zero, status};
use crate::scenario::scalar::{Number, Spread, Time, Whole};
use crate::scenario::{Distribution, Server, ServerKind};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerText {
    kind: Kind,
    service: Spanned<Spread>,
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

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Fifo,
    Ps,
    Usl,
    Bucket,
    Window,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Ps => "ps",
            Self::Usl => "usl",
            Self::Bucket => "bucket",
            Self::Window => "window",
        }
    }
}

pub(super) fn read(text: Spanned<ServerText>) -> Result<Server, Wrong> {
    let span = text.span();
    let text = text.into_inner();
    let keys = Keys::new("server", text.kind.name(), span);
    no_foreign_keys(&keys, &text)?;
    let kind = kind(&keys, &text)?;
    let reject = text.reject.as_ref().map(status).transpose()?;
    let usual = if kind.rate().is_some() { 429 } else { 503 };
    Ok(Server {
        reject: reject.unwrap_or(usual),
        kind,
        service: service(&text.service)?,
        retry_after: text.retry_after.map(|wait| wait.0),
    })
}

fn service(text: &Spanned<Spread>) -> Result<Distribution, Wrong> {
    let service = text.get_ref().0;
    if service.mean() > 0.0 {
        return Ok(service);
    }
    Err(Wrong::at(text.span(), "expected a mean above zero"))
}

fn kind(keys: &Keys, text: &ServerText) -> Result<ServerKind, Wrong> {
    let positive = |x: f64| x > 0.0;
    let from_zero = |x: f64| x >= 0.0;
    Ok(match text.kind {
        Kind::Fifo => ServerKind::Fifo {
            workers: keys.count("workers", text.workers.as_ref())?,
            queue: text.queue.as_ref().map(|queue| queue.get_ref().0),
        },
        Kind::Ps => ServerKind::Ps {
            capacity: keys.number("capacity", text.capacity.as_ref(), positive, "above 0")?,
        },
        Kind::Usl => ServerKind::Usl {
            alpha: keys.number("alpha", text.alpha.as_ref(), from_zero, "from 0 on")?,
            beta: keys.number("beta", text.beta.as_ref(), from_zero, "from 0 on")?,
        },
        Kind::Bucket => ServerKind::Bucket {
            rate: keys.number("rate", text.rate.as_ref(), positive, "above 0")?,
            burst: keys.number("burst", text.burst.as_ref(), |x| x >= 1.0, "from 1 on")?,
        },
        Kind::Window => ServerKind::Window {
            limit: keys.count("limit", text.limit.as_ref())?,
            per: per(keys, text)?,
        },
    })
}

fn per(keys: &Keys, text: &ServerText) -> Result<Duration, Wrong> {
    above_zero(keys.need("per", text.per.as_ref())?)
}

fn no_foreign_keys(keys: &Keys, text: &ServerText) -> Result<(), Wrong> {
    keys.only("fifo", "workers", text.workers.as_ref())?;
    keys.only("fifo", "queue", text.queue.as_ref())?;
    keys.only("ps", "capacity", text.capacity.as_ref())?;
    keys.only("usl", "alpha", text.alpha.as_ref())?;
    keys.only("usl", "beta", text.beta.as_ref())?;
    keys.only("bucket", "rate", text.rate.as_ref())?;
    keys.only("bucket", "burst", text.burst.as_ref())?;
    keys.only("window", "limit", text.limit.as_ref())?;
    keys.only("window", "per", text.per.as_ref())
}
