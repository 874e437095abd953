use std::fmt;
use std::time::Duration;

use tidegate_control::{Aimd, Pid, Prober};
use tidegate_core::Controller;

use crate::engine::Seat;
use crate::laws::{
    Cubic, Fixed, Gradient2, NetflixAimd, SeedAimd, SeedPid, TowerResilienceAimd, VectorArc, Vegas,
};

/// Every law but `fixed:N`, the shipped ones first.
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

/// No law has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLaw {
    name: String,
}

impl fmt::Display for UnknownLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name } = self;
        write!(f, "no law is named {name:?}; expected fixed:N")?;
        NAMES.iter().try_for_each(|name| write!(f, ", {name}"))
    }
}

impl std::error::Error for UnknownLaw {}

/// The law with that name.
///
/// # Errors
///
/// If there is none; its words list those that there are.
pub fn by_name(name: &str) -> Result<Maker, UnknownLaw> {
    let unknown = || UnknownLaw {
        name: name.to_owned(),
    };
    if let Some(limit) = name.strip_prefix("fixed:") {
        let limit: u32 = limit.parse().map_err(|_| unknown())?;
        return Ok(Box::new(move |_| Box::new(Fixed::new(limit))));
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
        let words = by_name("fixed").map(drop).unwrap_err().to_string();
        assert!(words.contains("\"fixed\""), "{words}");
        assert!(words.contains("prober, governor"), "{words}");
    }
}
