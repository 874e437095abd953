/// Two loads differ if one is at most this part of the other.
const APART: f64 = 0.6;

/// A share at less load that is at least this part of the share at more load is not about load:
/// refusals that load causes vanish within a few per cent below the limit that causes them.
const SAME: f64 = 0.7;

/// Above this share too much is lost to tell noise from an outage.
const OUTAGE: f64 = 0.4;

/// How fast a floor sinks that turns out too high, per round.
const SINK: f64 = 1.0 / 32.0;

/// The share of failures that has nothing to do with our load.
///
/// While more than is accepted fails, the share is compared between two limits that lie well apart.
/// What fails at either is the floor, and more of it is accepted. Without it a service that fails
/// more often than the setpoint, whatever we do, would be cut to one request in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noise {
    /// The floor, `0.0..=0.4`.
    floor: f64,
    /// Limit and share when more than accepted first failed.
    anchor: Option<(f64, f64)>,
}

impl Noise {
    /// The share that is accepted where `share` would be without noise.
    pub(crate) fn accepted(&self, share: f64) -> f64 {
        if self.floor > share {
            self.floor + share
        } else {
            share
        }
    }

    /// A round at limit `n` of which the share `p` failed, where `share` is accepted.
    pub(crate) fn learn(&mut self, n: f64, p: f64, share: f64) {
        if p < self.floor {
            self.floor += SINK * (p - self.floor);
        }
        if p <= self.accepted(share) {
            self.anchor = None;
            return;
        }
        let Some((from, before)) = self.anchor else {
            self.anchor = Some((n, p));
            return;
        };
        if n.min(from) > APART * n.max(from) {
            return;
        }
        let (less, more) = if n < from { (p, before) } else { (before, p) };
        if less > SAME * more && less.max(more) < OUTAGE {
            self.floor = less.min(more);
            self.anchor = None;
        } else {
            self.anchor = Some((n, p));
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn what_fails_at_half_the_load_too_is_noise() {
        let mut noise = Noise::default();
        noise.learn(100.0, 0.10, 0.05);
        noise.learn(75.0, 0.11, 0.05);
        assert_eq!(noise.accepted(0.05), 0.05);
        noise.learn(50.0, 0.10, 0.05);
        assert!((noise.accepted(0.05) - 0.15).abs() < 1e-9);
    }

    #[test]
    fn what_less_load_heals_is_not() {
        let mut noise = Noise::default();
        noise.learn(100.0, 0.30, 0.05);
        noise.learn(50.0, 0.02, 0.05);
        assert_eq!(noise.accepted(0.05), 0.05);
    }

    #[test]
    fn an_outage_is_not_noise() {
        let mut noise = Noise::default();
        for n in [100.0, 50.0, 25.0, 12.0] {
            noise.learn(n, 0.9, 0.05);
        }
        assert_eq!(noise.accepted(0.05), 0.05);
    }

    #[test]
    fn what_grows_as_the_load_falls_is_not_noise() {
        let mut noise = Noise::default();
        noise.learn(16.0, 0.25, 0.05);
        noise.learn(9.0, 1.0, 0.05);
        assert_eq!(noise.accepted(0.05), 0.05);
    }

    #[test]
    fn noise_that_ends_is_forgotten() {
        let mut noise = Noise::default();
        noise.learn(100.0, 0.10, 0.05);
        noise.learn(50.0, 0.10, 0.05);
        (0..200).for_each(|_| noise.learn(100.0, 0.0, 0.05));
        assert_eq!(noise.accepted(0.05), 0.05);
    }
}
