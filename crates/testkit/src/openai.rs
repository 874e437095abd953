//! How the services of OpenAI say how their meters stand.

use std::time::Duration;

use crate::Response;
use crate::bucket::Level;

/// Limit, what remains, and when all of it is there again, of the requests and of the tokens.
pub(crate) fn with_levels(mut response: Response, levels: [Option<Level>; 2]) -> Response {
    for (unit, level) in ["requests", "tokens"].into_iter().zip(levels) {
        let Some(level) = level else { continue };
        let reset = go_duration(level.full_in);
        for (field, value) in [
            ("limit", level.burst.to_string()),
            ("remaining", level.left.to_string()),
            ("reset", reset),
        ] {
            response = response.header(&format!("x-ratelimit-{field}-{unit}"), &value);
        }
    }
    response
}

pub(crate) fn with_wait(response: Response, wait: Duration) -> Response {
    response.header("retry-after-ms", &millis(wait).to_string())
}

/// In whole milliseconds, rounded up: `12ms`, `1.5s`, `6m0s`.
fn go_duration(duration: Duration) -> String {
    let millis = millis(duration);
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let seconds = rest as f64 / 1e3;
    match (minutes, rest) {
        (0, 0) => "0s".into(),
        (0, ..1_000) => format!("{rest}ms"),
        (0, _) => format!("{seconds}s"),
        (..60, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{}h{}m{seconds}s", minutes / 60, minutes % 60),
    }
}

fn millis(duration: Duration) -> u128 {
    duration.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let written = [
            0,
            1,
            999_999,
            1_000_000,
            6_500_000,
            360_000_000,
            3_723_500_000,
        ]
        .map(|micros| go_duration(Duration::from_micros(micros)));
        assert_eq!(
            written,
            ["0s", "1ms", "1s", "1s", "6.5s", "6m0s", "1h2m3.5s"]
        );
    }
}
