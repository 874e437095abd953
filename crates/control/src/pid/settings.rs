use crate::{Bounds, Invalid};

/// What moves a [`Pid`](crate::Pid); every field may be changed while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PidSettings {
    /// The share of failed requests to hold, above `0.0` and below `1.0`; default 0.05.
    pub setpoint: f64,
    /// Gain on the change of the error, at least 0; default 0.10.
    pub kp: f64,
    /// Gain on the error, at least 0; default 0.18.
    pub ki: f64,
    /// Gain on the bend of the filtered measurement, at least 0; default 0.10.
    pub kd: f64,
    /// The least limit, at least 1; default 1.
    pub min: usize,
    /// The greatest limit, at least `min`; default 5,000.
    pub max: usize,
}

impl PidSettings {
    pub(super) fn check(&self) -> Result<Bounds, Invalid> {
        if !(self.setpoint > 0.0 && self.setpoint < 1.0) {
            return Err(Invalid::new("setpoint", self.setpoint, "between 0 and 1"));
        }
        for (name, gain) in [("kp", self.kp), ("ki", self.ki), ("kd", self.kd)] {
            if !(gain >= 0.0 && gain.is_finite()) {
                return Err(Invalid::new(name, gain, "finite and at least 0"));
            }
        }
        Bounds::new(self.min, self.max)
    }
}
