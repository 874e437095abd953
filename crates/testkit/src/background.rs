use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::Fault;

/// What goes wrong without any load.
#[derive(Debug)]
pub(crate) struct Background {
    failing: f64,
    status: u16,
    faulty: f64,
    /// Equally often.
    faults: Vec<Fault>,
    /// Its own, so that service times are the same whatever goes wrong.
    draws: Xoshiro256PlusPlus,
}

impl Background {
    pub(crate) fn new() -> Self {
        Self {
            failing: 0.0,
            status: 500,
            faulty: 0.0,
            faults: Vec::new(),
            draws: Xoshiro256PlusPlus::seed_from_u64(0),
        }
    }

    pub(crate) fn seed(self, seed: u64) -> Self {
        // Not the sequence of the service times.
        let draws = Xoshiro256PlusPlus::seed_from_u64(!seed);
        Self { draws, ..self }
    }

    pub(crate) fn fail(&mut self, share: f64, status: u16) {
        self.failing = share;
        self.status = status;
    }

    /// Below 0, or not a number, is 0, and above 1 is 1.
    pub(crate) fn set_failing(&mut self, share: f64) {
        self.failing = share;
    }

    pub(crate) fn fault(&mut self, share: f64, faults: Vec<Fault>) {
        self.faulty = share;
        self.faults = faults;
    }

    /// The status of a failure, and a fault. As many draws for each request, so that a share that
    /// changes does not change what the others meet.
    pub(crate) fn draw(&mut self) -> (Option<u16>, Option<Fault>) {
        let [failing, faulty, which]: [f64; 3] = self.draws.random();
        let failure = (failing < self.failing).then_some(self.status);
        let nth = (which * self.faults.len() as f64) as usize;
        let fault = self.faults.get(nth).filter(|_| faulty < self.faulty);
        (failure, fault.copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_as_frequent_as_its_share() {
        let mut background = Background::new();
        background.fault(0.3, Fault::EXAMPLES.to_vec());
        let draws: Vec<_> = (0..100_000).filter_map(|_| background.draw().1).collect();
        for fault in Fault::EXAMPLES {
            let count = draws.iter().filter(|drawn| **drawn == fault).count();
            // 2,000, within five standard deviations.
            assert!((1_780..=2_220).contains(&count), "{fault}: {count}");
        }
    }

    #[test]
    fn a_share_that_changes_leaves_the_other_alone() {
        let faults = |failing| {
            let mut background = Background::new();
            background.fault(0.5, vec![Fault::Silence, Fault::ShortBody]);
            background.fail(failing, 500);
            let draws = std::iter::repeat_with(move || background.draw().1);
            draws.take(100).collect::<Vec<_>>()
        };
        assert_eq!(faults(0.0), faults(1.0));
    }
}
