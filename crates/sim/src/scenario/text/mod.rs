//! From the text of a file to a [`Scenario`], with a place for everything that is wrong.

mod keys;
mod load;
mod place;
mod server;

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use self::load::LoadText;
use self::place::Wrong;
use self::server::ServerText;
use super::scalar::{Number, Spread, Time, Whole};
use crate::scenario::{Background, Load, Scenario, ScenarioError, Step};

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

/// Reads a file's text.
pub(super) fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let parsed: Text = toml::from_str(text).map_err(|error| Wrong::from(&error).placed_in(text))?;
    scenario(parsed).map_err(|wrong| wrong.placed_in(text))
}

fn scenario(text: Text) -> Result<Scenario, Wrong> {
    let load_span = text.load.span();
    let load = load::read(text.load)?;
    let duration = match text.duration {
        Some(duration) => above_zero(&duration)?,
        None if matches!(load, Load::Batch { .. }) => BATCH,
        None => {
            let words = "expected a `duration` at the top of the file: only a batch ends by itself";
            return Err(Wrong::at(load_span, words));
        }
    };
    let timeout = text.timeout.as_ref().map(above_zero).transpose()?;
    let steps = text.step.into_iter().map(step);
    let mut steps = steps.collect::<Result<Vec<_>, _>>()?;
    steps.sort_by_key(|step| step.at);
    Ok(Scenario {
        id: text.id,
        rtt: text.rtt.0,
        rtt_jitter: text.rtt_jitter.map(|jitter| jitter.0),
        duration,
        timeout,
        clients: clients(text.clients)?,
        server: server::read(text.server)?,
        load,
        steps,
        background: text.background.as_ref().map(background).transpose()?,
    })
}

fn above_zero(time: &Spanned<Time>) -> Result<Duration, Wrong> {
    match time.get_ref().0 {
        Duration::ZERO => Err(Wrong::at(time.span(), "expected a duration above zero")),
        time => Ok(time),
    }
}

fn at_least_zero(number: &Spanned<Number>) -> Result<f64, Wrong> {
    match number.get_ref().0 {
        value if value >= 0.0 => Ok(value),
        value => {
            let words = format!("expected a number of at least 0, not {value}");
            Err(Wrong::at(number.span(), words))
        }
    }
}

fn clients(clients: Option<Spanned<Vec<Time>>>) -> Result<Vec<Duration>, Wrong> {
    let Some(clients) = clients else {
        return Ok(vec![Duration::ZERO]);
    };
    let times: Vec<_> = clients.get_ref().iter().map(|time| time.0).collect();
    if times.is_empty() || times.len() > CLIENTS {
        let words = format!("expected the join times of 1 to {CLIENTS} clients");
        return Err(Wrong::at(clients.span(), words));
    }
    Ok(times)
}

fn status(status: &Spanned<Whole>) -> Result<u16, Wrong> {
    match status.get_ref().0 {
        code @ 400..600 => Ok(code as u16),
        code => {
            let words = format!("expected an HTTP status from 400 to 599, not {code}");
            Err(Wrong::at(status.span(), words))
        }
    }
}

fn background(text: &BackgroundText) -> Result<Background, Wrong> {
    let share = text.share.get_ref().0;
    if !(0.0..1.0).contains(&share) {
        let words = format!("expected a share from 0 to below 1, not {share}");
        return Err(Wrong::at(text.share.span(), words));
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
        return Err(Wrong::at(span, "expected a `capacity` or an `rtt`"));
    }
    let capacity = text.capacity.as_ref().map(at_least_zero).transpose()?;
    if text.silent && capacity != Some(0.0) {
        let words = "expected `capacity = 0` beside `silent`: only an outage is silent";
        return Err(Wrong::at(span, words));
    }
    Ok(Step {
        at: text.at.0,
        capacity,
        silent: text.silent,
        rtt: text.rtt.map(|rtt| rtt.0),
    })
}
