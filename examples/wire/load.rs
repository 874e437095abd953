use std::fs;

/// How many threads wanted to run in the last minute, where the system tells.
pub(crate) fn average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
