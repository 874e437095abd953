use tidegate_core::{Change, Pace};

/// A door has the slower of the user's pace and the law's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paces {
    own: Option<Pace>,
    asked: Option<Pace>,
}

impl Paces {
    /// As a door shows it before a law has spoken.
    pub(crate) fn seen(pace: Option<Pace>) -> Self {
        Self {
            own: pace,
            asked: None,
        }
    }

    /// What the law asks for from now on; answers what was in force and what is.
    pub(crate) fn ask(&mut self, change: &Change) -> [Option<Pace>; 2] {
        if self.asked.is_none() {
            if self.own == change.from.pace {
                // What was seen was the law's.
                self.own = None;
            }
            self.asked = change.from.pace;
        }
        let before = self.in_force();
        self.asked = change.to.pace;
        [before, self.in_force()]
    }

    /// What the door has now, since the user wants it.
    pub(crate) fn move_to(&mut self, pace: Option<Pace>) {
        self.own = pace.filter(|_| pace != self.asked);
    }

    /// What the door has.
    fn in_force(&self) -> Option<Pace> {
        match (self.own, self.asked) {
            (Some(own), Some(asked)) => Some(own.slower_of(asked)),
            (own, asked) => own.or(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::{Reason, Setting, per_second};

    use super::*;

    fn asks(from: Option<f64>, to: Option<f64>) -> Change {
        let setting = |rate: Option<f64>| Setting {
            pace: rate.map(per_second),
            ..Setting::limit(4.0)
        };
        Change {
            from: setting(from),
            to: setting(to),
            reason: Reason::Starting,
        }
    }

    #[test]
    fn the_slower_of_the_users_pace_and_the_laws_is_in_force() {
        let mut paces = Paces::seen(Some(per_second(50.0)));
        for (from, to, in_force) in [
            (None, Some(80.0), 50.0),
            (Some(80.0), Some(20.0), 20.0),
            (Some(20.0), None, 50.0),
        ] {
            let [_, now] = paces.ask(&asks(from, to));
            assert_eq!(now, Some(per_second(in_force)));
        }
    }

    #[test]
    fn a_pace_that_the_law_had_before_anybody_looked_is_the_laws() {
        let mut paces = Paces::seen(Some(per_second(100.0)));
        let paces = paces.ask(&asks(Some(100.0), Some(120.0)));
        assert_eq!(paces, [100.0, 120.0].map(|rate| Some(per_second(rate))));
    }
}
