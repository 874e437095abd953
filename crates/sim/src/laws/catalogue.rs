use std::fmt;
use std::time::Duration;

use tidegate_control::{Aimd, Pid, PidSettings, Prober};
use tidegate_core::Controller;

use crate::engine::Seat;
use crate::laws::{
    Cubic, Fixed, Gradient2, NetflixAimd, SeedAimd, SeedPid, TowerResilienceAimd, VectorArc, Vegas,
    governor,
};

/// Every law but `fixed:N`, the shipped ones first; `governor` also takes its gains.
pub const NAMES: [&str; 11] = [
    "prober",
    "governor",
    "aimd",
    "seed-aimd",
    "seed-pid",
    "tower-resilience-aimd",
    "netflix-aimd",
    "vector-arc",
    "cubic",
    "vegas",
    "gradient2",
];

/// Makes the law of one client.
pub type Maker = Box<dyn Fn(&Seat) -> Box<dyn Controller> + Send + Sync>;

/// A name that makes no law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LawError {
    /// No law has this name.
    Unknown(String),
    /// The settings that follow `governor:`; what is wrong with them.
    Settings(String),
}

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "no law is named {name:?}; expected fixed:N")?;
                NAMES.iter().try_for_each(|name| write!(f, ", {name}"))?;
                f.write_str(", governor:kp=K,ki=K,kd=K,setpoint=S")
            }
            Self::Settings(what) => write!(f, "governor: {what}"),
        }
    }
}

impl std::error::Error for LawError {}

/// The law with that name, such as `prober`, `fixed:40` or `governor:kp=0.1,ki=0,kd=0`; a setting of
/// the governor that is not named keeps its default.
///
/// # Errors
///
/// If there is none, or a setting is wrong; its words say what is expected.
pub fn by_name(name: &str) -> Result<Maker, LawError> {
    let unknown = || LawError::Unknown(name.to_owned());
    if let Some(limit) = name.strip_prefix("fixed:") {
        let limit: u32 = limit.parse().map_err(|_| unknown())?;
        return Ok(Box::new(move |_| Box::new(Fixed::new(limit))));
    }
    if let Some(text) = name.strip_prefix("governor:") {
        let PidSettings {
            setpoint,
            kp,
            ki,
            kd,
            ..
        } = governor::settings(text).map_err(LawError::Settings)?;
        return Ok(Box::new(move |seat| {
            let law = Pid::new(seat.phase).setpoint(setpoint);
            Box::new(law.kp(kp).ki(ki).kd(kd))
        }));
    }
    Ok(match name {
        "prober" => Box::new(|seat| Box::new(Prober::new(seat.phase))),
        "governor" => Box::new(|seat| Box::new(Pid::new(seat.phase))),
        "seed-aimd" => Box::new(|_| Box::new(SeedAimd::new())),
        "seed-pid" => Box::new(|_| Box::new(SeedPid::new())),
        "netflix-aimd" => Box::new(|_| Box::new(NetflixAimd::new())),
        "vegas" => Box::new(|seat| Box::new(Vegas::new(seat.seed ^ seat.client as u64))),
        "gradient2" => Box::new(|_| Box::new(Gradient2::new())),
        "vector-arc" => Box::new(|_| Box::new(VectorArc::new())),
        "tower-resilience-aimd" => {
            Box::new(|_| Box::new(TowerResilienceAimd::new(Duration::from_secs(1))))
        }
        "cubic" => Box::new(|_| Box::new(Cubic::new())),
        "aimd" => Box::new(|_| Box::new(Aimd::new())),
        _ => return Err(unknown()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_a_law() {
        for name in NAMES {
            assert!(by_name(name).is_ok(), "{name}");
        }
        assert!(by_name("fixed:3").is_ok());
        assert!(by_name("governor:kp=0.1,ki=0,kd=0").is_ok());
        let words = by_name("fixed").map(drop).unwrap_err().to_string();
        assert!(words.contains("\"fixed\""), "{words}");
        assert!(words.contains("prober, governor"), "{words}");
        let words = by_name("governor:kp=-1").map(drop).unwrap_err().to_string();
        assert_eq!(words, "governor: kp must be finite and at least 0, not -1");
    }
}
