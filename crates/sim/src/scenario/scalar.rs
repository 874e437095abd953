//! Values as they stand in a file: a duration with its unit, a number, a count.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};

use crate::scenario::Distribution;

/// A duration with its unit, such as `"20ms"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time(pub(super) Duration);

/// A finite number, with or without a decimal point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub(super) f64);

/// A whole number from 0 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole(pub(super) u32);

/// A duration, or a table with the name and the numbers of a distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread(pub(super) Distribution);

/// Longest unit first where one ends with another.
const UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("min", 60e9),
    ("h", 3_600e9),
    ("s", 1e9),
];

/// Longer than any run: keeps sums of times far from the end of `u64`.
const LONGEST: f64 = 365.0 * 86_400e9;

fn time(text: &str) -> Option<Duration> {
    let (unit, nanos) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let count: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
    let nanos = count * nanos;
    (0.0..=LONGEST)
        .contains(&nanos)
        .then(|| Duration::from_nanos(nanos.round() as u64))
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration with a unit (ns, us, ms, s, min, h), such as \"20ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
        time(text)
            .map(Time)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Number, E> {
        number
            .is_finite()
            .then_some(Number(number))
            .ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", u32::MAX)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole, E> {
        u32::try_from(number)
            .map(Whole)
            .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Named {
    Exponential(Time),
    Lognormal(Lognormal),
    Pareto(Pareto),
    Bimodal(Bimodal),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Lognormal {
    mean: Time,
    cv: Number,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Pareto {
    mean: Time,
    alpha: Number,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Bimodal {
    slow_share: Number,
    fast: Time,
    slow: Time,
}

impl Named {
    /// The distribution, or what was expected of its numbers.
    fn check(self) -> Result<Distribution, &'static str> {
        match self {
            Self::Exponential(mean) => Ok(Distribution::Exponential(mean.0)),
            Self::Lognormal(Lognormal { mean, cv }) if cv.0 >= 0.0 && !mean.0.is_zero() => {
                Ok(Distribution::Lognormal {
                    mean: mean.0,
                    cv: cv.0,
                })
            }
            Self::Lognormal(_) => Err("expected a mean above zero and a cv of at least 0"),
            Self::Pareto(Pareto { mean, alpha }) if alpha.0 > 1.0 => Ok(Distribution::Pareto {
                mean: mean.0,
                alpha: alpha.0,
            }),
            Self::Pareto(_) => Err("expected an alpha above 1, without which there is no mean"),
            Self::Bimodal(Bimodal {
                slow_share,
                fast,
                slow,
            }) if (0.0..=1.0).contains(&slow_share.0) => Ok(Distribution::Bimodal {
                slow_share: slow_share.0,
                fast: fast.0,
                slow: slow.0,
            }),
            Self::Bimodal(_) => Err("expected a slow_share from 0 to 1"),
        }
    }
}

struct SpreadVisitor;

impl<'de> Visitor<'de> for SpreadVisitor {
    type Value = Spread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a duration with a unit, such as \"20ms\", or a table with one of exponential, \
             lognormal, pareto, bimodal",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Spread, E> {
        time(text)
            .map(|time| Spread(Distribution::Plain(time)))
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Spread, A::Error> {
        let named = Named::deserialize(de::value::MapAccessDeserializer::new(map))?;
        named.check().map(Spread).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpreadVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_its_unit() {
        assert_eq!(time("20ms"), Some(Duration::from_millis(20)));
        assert_eq!(time("1.5 s"), Some(Duration::from_millis(1_500)));
        assert_eq!(time("2min"), Some(Duration::from_secs(120)));
        assert_eq!(time("3us"), Some(Duration::from_micros(3)));
        assert_eq!(time("0s"), Some(Duration::ZERO));
        for wrong in ["20", "", "ms", "-1s", "1d", "NaNs", "infs"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }
}
