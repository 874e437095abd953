/// Answers over which the usual number in flight is averaged.
const MEMORY: f64 = 100.0;

/// Answers before that average means something.
const KNOWN: f64 = 40.0;

/// Refusals needed for a verdict, each at least a latency after the one before, so that they are
/// not one event.
const REFUSALS: f64 = 6.0;

/// Older refusals fade once there are so many.
const FADE: f64 = 32.0;

/// Deviations above the usual number in flight. In simulation refusals by a concurrency limit came
/// at 1.2 to 1.6, refusals by a rate at −0.2 to 0.4.
const CROWDED: f64 = 1.0;

/// With fewer in flight than this, one more is no crowd.
const FEW: f64 = 1.5;

/// Whether the refused found more in flight than the others: then they were refused for their
/// number and not for their rate.
///
/// Under a pace the number in flight moves freely, so a service that limits it refuses those that
/// meet a crowd, while a token bucket refuses whoever comes when it is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crowding {
    seen: f64,
    mean: f64,
    variance: f64,
    refusals: f64,
    deviations: f64,
    met: f64,
    last: f64,
}

impl Crowding {
    pub(crate) fn add(&mut self, now: f64, latency: f64, in_flight: f64, refused: bool) {
        let off = in_flight - self.mean;
        if refused && self.seen > KNOWN && now - self.last > latency {
            self.last = now;
            self.refusals += 1.0;
            self.deviations += (off / self.variance.sqrt().max(0.5)).clamp(-2.0, 2.0);
            self.met += in_flight;
        }
        if self.refusals > FADE {
            self.refusals /= 2.0;
            self.deviations /= 2.0;
            self.met /= 2.0;
        }
        self.seen += 1.0;
        let weight = 1.0 / self.seen.min(MEMORY);
        self.mean += weight * off;
        self.variance += weight * (off * off - self.variance);
    }

    /// How many the refused met, if it was their number.
    pub(crate) fn limit(&self) -> Option<f64> {
        let crowded = self.refusals >= REFUSALS
            && self.deviations > CROWDED * self.refusals
            && self.mean > FEW;
        crowded.then(|| self.met / self.refusals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In flight goes round from 10 to 29; refused if `refuses` says so.
    fn fed(refuses: impl Fn(u32) -> bool) -> Crowding {
        let mut crowding = Crowding::default();
        for step in 0..2_000 {
            let in_flight = 10 + (step * 7) % 20;
            let now = f64::from(step) * 0.01;
            crowding.add(now, 0.05, f64::from(in_flight), refuses(in_flight));
        }
        crowding
    }

    #[test]
    fn those_refused_above_a_number_met_a_crowd() {
        let limit = fed(|in_flight| in_flight > 26).limit().unwrap();
        assert!((26.0..30.0).contains(&limit), "{limit}");
    }

    #[test]
    fn those_refused_at_any_number_did_not() {
        assert_eq!(fed(|in_flight| in_flight % 6 == 0).limit(), None);
    }
}
