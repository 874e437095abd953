use std::time::Duration;

use tidegate_control::{Pid, PidSettings};

/// What follows `governor:`, such as `kp=0.1,ki=0,kd=0`; what is not named keeps its default.
///
/// # Errors
///
/// If a part is no setting and its number, or the number is out of the setting's range; in words.
pub(super) fn settings(text: &str) -> Result<PidSettings, String> {
    let mut law = Pid::new(Duration::ZERO);
    let mut seen = Vec::new();
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=') else {
            return Err(format!("{part:?}: expected kp=NUMBER or the like"));
        };
        let (key, value) = (key.trim(), value.trim());
        let mut settings = law.settings();
        let field = match key {
            "setpoint" => &mut settings.setpoint,
            "kp" => &mut settings.kp,
            "ki" => &mut settings.ki,
            "kd" => &mut settings.kd,
            _ => return Err(format!("{key:?}: expected setpoint, kp, ki or kd")),
        };
        if seen.contains(&key) {
            return Err(format!("{key} is there twice"));
        }
        seen.push(key);
        let number = value.parse();
        *field = number.map_err(|_| format!("{key}: expected a number, not {value:?}"))?;
        law.set(settings).map_err(|invalid| invalid.to_string())?;
    }
    Ok(law.settings())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_keeps_its_default() {
        let defaults = Pid::new(Duration::ZERO).settings();
        let expected = PidSettings {
            kp: 0.3,
            ki: 0.0,
            ..defaults
        };
        assert_eq!(settings("kp=0.3, ki=0"), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("", "\"\": expected kp=NUMBER or the like"),
            ("kp=0.1,kd", "\"kd\": expected kp=NUMBER or the like"),
            ("kx=1", "\"kx\": expected setpoint, kp, ki or kd"),
            ("kp=much", "kp: expected a number, not \"much\""),
            ("kp=0.1,kp=0.2", "kp is there twice"),
            ("ki=-1", "ki must be finite and at least 0, not -1"),
            ("kd=inf", "kd must be finite and at least 0, not inf"),
            ("setpoint=1", "setpoint must be between 0 and 1, not 1"),
        ] {
            assert_eq!(settings(text), Err(words.to_owned()));
        }
    }
}
