use std::time::Instant;

use tidegate_admission::Door;
use tidegate_core::{Pace, Setting};

/// The user's pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OwnPace {
    AsTold,
    /// The door is to be told of it.
    Moved(Option<Pace>),
}

/// What the door was told last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) limit: usize,
    /// The law's.
    asked: Option<Pace>,
    /// The user's.
    own: Option<Pace>,
    /// What the door was given: the slower of the two.
    pace: Option<Pace>,
    pause_until: Option<Instant>,
}

impl Told {
    /// Nothing yet: all that is there is the user's.
    pub(crate) fn nothing(door: &Door) -> Self {
        let pace = door.pace();
        Self {
            limit: door.limit(),
            asked: None,
            own: pace,
            pace,
            pause_until: None,
        }
    }

    /// Tells it what has changed.
    pub(crate) fn and_now(mut self, setting: &Setting, own: OwnPace, door: &Door) -> Self {
        let limit = (setting.limit as usize).clamp(1, Door::MAX_LIMIT);
        if limit != self.limit {
            door.by_law().set_limit(limit);
            self.limit = limit;
        }
        if setting.pace != self.asked || own != OwnPace::AsTold {
            self.asked = setting.pace;
            let there = door.pace();
            match own {
                OwnPace::Moved(own) => self.own = own,
                OwnPace::AsTold if there != self.pace => self.own = there,
                OwnPace::AsTold => {}
            }
            self.pace = slower(self.own, self.asked);
            if self.pace != there {
                door.by_law().set_pace(self.pace);
            }
        }
        if setting.pause_until > self.pause_until {
            self.pause_until = setting.pause_until;
            setting
                .pause_until
                .into_iter()
                .for_each(|until| door.by_law().pause_until(until));
        }
        self
    }
}

fn slower(own: Option<Pace>, asked: Option<Pace>) -> Option<Pace> {
    match (own, asked) {
        (Some(own), Some(asked)) => Some(own.slower_of(asked)),
        _ => own.or(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::per_second;

    #[test]
    fn the_slower_of_two_paces_holds_and_the_smaller_of_two_bursts() {
        let own = per_second(100.0).burst(2);
        let asked = per_second(50.0).burst(5);
        assert_eq!(slower(Some(own), Some(asked)), Some(asked.burst(2)));
        assert_eq!(slower(Some(own), None), Some(own));
        assert_eq!(slower(None, Some(asked)), Some(asked));
    }

    #[test]
    fn a_pace_that_the_law_takes_back_leaves_the_users() {
        let door = Door::new("gate", 10);
        door.set_pace(Some(per_second(100.0)));
        let told = Told::nothing(&door);
        let mut setting = Setting::limit(10.0);
        setting.pace = Some(per_second(20.0));
        let told = told.and_now(&setting, OwnPace::AsTold, &door);
        assert_eq!(door.pace(), Some(per_second(20.0)));

        door.set_pace(Some(per_second(30.0)));
        setting.pace = Some(per_second(40.0));
        let told = told.and_now(&setting, OwnPace::AsTold, &door);
        assert_eq!(door.pace(), Some(per_second(30.0)));

        setting.pace = None;
        told.and_now(&setting, OwnPace::AsTold, &door);
        assert_eq!(door.pace(), Some(per_second(30.0)));
    }
}
