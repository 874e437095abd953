//! Times as they are read, and widths that are easy to read.

use std::time::Duration;

/// Seconds, minutes or hours, whichever says most in few characters: `250 ms`, `12.5 s`, `2:05`,
/// `1:02:05`.
pub(crate) fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => {
            let millis = time.as_secs_f64() * 1e3;
            let decimals = usize::from(millis < 10.0 && millis.fract() > 0.0);
            format!("{millis:.decimals$} ms")
        }
        1..10 => format!("{:.2} s", time.as_secs_f64()),
        10..120 => format!("{:.1} s", time.as_secs_f64()),
        _ => clock(seconds),
    }
}

/// Minutes and seconds, with hours where there are any.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// As one of several up to `end` that are `width` apart: with as many decimals as tell them apart.
pub(crate) fn tick(time: Duration, width: Duration, end: Duration) -> String {
    let decimals = match width.as_millis() {
        0..10 => 3,
        10..100 => 2,
        100..1_000 => 1,
        _ if end.as_secs() < 120 => 0,
        _ => return clock(time.as_secs()),
    };
    format!("{:.decimals$} s", time.as_secs_f64())
}

/// The shortest of a series of round times that is at least `time`.
pub(crate) fn round(time: Duration) -> Duration {
    const STEPS: [u64; 7] = [1, 2, 5, 10, 15, 30, 60];
    const HOURS: [u64; 5] = [1, 2, 6, 12, 24];
    let millis = (0..3).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let seconds = STEPS.map(|step| step * 1_000);
    let minutes = STEPS.map(|step| step * 60_000);
    let hours = HOURS.map(|step| step * 3_600_000);
    let longer = (1..32).map(|power| 86_400_000 << power);
    millis
        .chain(seconds)
        .chain(minutes)
        .chain(hours)
        .chain(longer)
        .map(Duration::from_millis)
        .find(|round| *round >= time)
        .unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_in_few_characters() {
        let said = [0.0, 0.0025, 0.25, 1.5, 12.55, 125.0, 3725.9]
            .map(|seconds| words(Duration::from_secs_f64(seconds)));
        let expected = [
            "0 ms", "2.5 ms", "250 ms", "1.50 s", "12.6 s", "2:05", "1:02:05",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_round_time_is_not_below_what_it_rounds() {
        let rounded = [
            0, 3, 11, 499, 501, 7_000, 16_000, 61_000, 4_000_000, 90_000_000,
        ]
        .map(|millis| round(Duration::from_millis(millis)).as_millis());
        let expected = [
            1,
            5,
            20,
            500,
            1_000,
            10_000,
            30_000,
            120_000,
            7_200_000,
            172_800_000,
        ];
        assert_eq!(rounded, expected);
        assert_eq!(round(Duration::MAX), Duration::MAX);
    }
}
