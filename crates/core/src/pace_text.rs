//! A pace as configuration says it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Pace, Start};

/// One of the rates, or a strict count in a window.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaceText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per_minute: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per_hour: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strict: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst: Option<u32>,
    #[serde(default)]
    start: Start,
}

impl TryFrom<PaceText> for Pace {
    type Error = String;

    fn try_from(text: PaceText) -> Result<Self, String> {
        let rates = [
            ("per_second", text.per_second, 1),
            ("per_minute", text.per_minute, 60),
            ("per_hour", text.per_hour, 3_600),
        ];
        let mut given = rates
            .into_iter()
            .filter_map(|(field, count, seconds)| Some((field, count?, seconds)));
        let pace = match (given.next(), given.next(), text.strict, text.window_seconds) {
            (Some((field, count, seconds)), None, None, None) => {
                let pace = Self::try_per(count, Duration::from_secs(seconds));
                pace.map_err(|invalid| format!("{field}: {invalid}"))?
            }
            (None, None, Some(count), Some(seconds)) => {
                let window = Duration::try_from_secs_f64(seconds)
                    .map_err(|error| format!("window_seconds: {seconds}: {error}"))?;
                let pace = Self::try_strict(count, window);
                pace.map_err(|invalid| format!("strict, window_seconds: {invalid}"))?
            }
            _ => {
                return Err("a pace is one of per_second, per_minute and per_hour, \
                            or strict with window_seconds"
                    .into());
            }
        };
        let pace = match text.burst {
            None => pace,
            Some(0) => return Err("burst: is at least 1, not 0".into()),
            Some(_) if pace.window().is_some() => {
                return Err("burst: a strict window has none".into());
            }
            Some(burst) => pace.burst(burst),
        };
        Ok(pace.start(text.start))
    }
}

impl From<Pace> for PaceText {
    fn from(pace: Pace) -> Self {
        let start = pace.start_level();
        match pace.window() {
            None => Self {
                per_second: Some(pace.rate()),
                burst: Some(pace.bucket()),
                start,
                ..Self::default()
            },
            Some(window) => Self {
                strict: Some(pace.bucket()),
                window_seconds: Some(window.as_secs_f64()),
                start,
                ..Self::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{per_minute, per_second, strict};

    fn read(text: &str) -> Result<Pace, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_pace_is_read_as_it_is_written() {
        for (text, pace) in [
            (
                r#"{"per_second": 50, "burst": 10}"#,
                per_second(50.0).burst(10),
            ),
            (r#"{"per_minute": 500}"#, per_minute(500.0)),
            (
                r#"{"strict": 100, "window_seconds": 60, "start": "empty"}"#,
                strict(100, Duration::from_secs(60)).start(Start::Empty),
            ),
        ] {
            assert_eq!(read(text), Ok(pace));
            let again = serde_json::to_string(&pace).unwrap();
            let again = read(&again).unwrap();
            assert_eq!(again.period(), pace.period());
            assert_eq!(
                (again.bucket(), again.window()),
                (pace.bucket(), pace.window())
            );
            assert_eq!(again.start_level(), pace.start_level());
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_field_and_the_number() {
        for (text, words) in [
            (r#"{"per_second": 0}"#, "per_second: "),
            (r#"{"per_second": 0}"#, "not 0 in 1s"),
            (r#"{"per_hour": -2.5}"#, "not -2.5 in 3600s"),
            (r#"{"strict": 0, "window_seconds": 1}"#, "not 0 in 1s"),
            (
                r#"{"strict": 1, "window_seconds": -1}"#,
                "window_seconds: -1",
            ),
            (r#"{"per_second": 1, "burst": 0}"#, "burst: "),
            (
                r#"{"strict": 1, "window_seconds": 1, "burst": 1}"#,
                "burst: ",
            ),
            (r#"{"per_second": 1, "per_hour": 1}"#, "one of per_second"),
            (r#"{"strict": 1}"#, "one of per_second"),
            (r#"{"per_secnd": 1}"#, "unknown field `per_secnd`"),
            (
                r#"{"per_second": 1, "start": "half"}"#,
                "unknown variant `half`",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
