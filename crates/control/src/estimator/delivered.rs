const SLOTS: u64 = 64;

/// How many slots a span asked for may need; the rest is for the slot that is being filled.
const SPAN: f64 = 62.0;

/// Width of a slot at first, seconds: the shortest span asked for, 0.3 s, is twelve of them.
const WIDTH: f64 = 0.025;

/// Successes per second over a past span, in constant memory: counts in slots of time, whose width
/// doubles until the span fits.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    counts: [u32; SLOTS as usize],
    width: f64,
    /// `1 / width`.
    per_second: f64,
    /// The slot being filled, counted from time 0.
    slot: u64,
    since: f64,
}

impl Default for Delivered {
    fn default() -> Self {
        Self {
            counts: [0; SLOTS as usize],
            width: WIDTH,
            per_second: 1.0 / WIDTH,
            slot: 0,
            since: 0.0,
        }
    }
}

impl Delivered {
    pub(crate) fn record(&mut self, now: f64) {
        self.advance(now);
        let count = self.count_mut(self.slot);
        *count = count.saturating_add(1);
    }

    /// Per second over the last `span` seconds, or over as much of it as is known.
    pub(crate) fn rate(&mut self, now: f64, span: f64) -> f64 {
        self.reserve(span);
        self.advance(now);
        let first = ((now - span) / self.width).max(0.0) as u64;
        let first = first.max((self.slot + 1).saturating_sub(SLOTS));
        let count: u64 = (first..=self.slot)
            .map(|slot| u64::from(self.count(slot)))
            .sum();
        let from = (first as f64 * self.width).max(self.since);
        count as f64 / (now - from).max(self.width)
    }

    /// Makes room for spans of this length.
    pub(crate) fn reserve(&mut self, span: f64) {
        while span > SPAN * self.width {
            self.halve();
        }
    }

    fn advance(&mut self, now: f64) {
        let slot = ((now * self.per_second) as u64).max(self.slot);
        if slot == self.slot {
            return;
        }
        for empty in slot.saturating_sub(SLOTS - 1).max(self.slot + 1)..=slot {
            *self.count_mut(empty) = 0;
        }
        self.slot = slot;
    }

    fn halve(&mut self) {
        let mut counts = [0; SLOTS as usize];
        let slot = self.slot / 2;
        for merged in slot.saturating_sub(SLOTS / 2 - 1)..=slot {
            let pair = [2 * merged, 2 * merged + 1];
            counts[(merged % SLOTS) as usize] = pair
                .into_iter()
                .filter(|&one| one <= self.slot && one + SLOTS > self.slot)
                .map(|one| self.count(one))
                .fold(0, u32::saturating_add);
        }
        self.since = self
            .since
            .max((self.slot + 1).saturating_sub(SLOTS) as f64 * self.width);
        self.counts = counts;
        self.width *= 2.0;
        self.per_second /= 2.0;
        self.slot = slot;
    }

    fn count(&self, slot: u64) -> u32 {
        self.counts[(slot % SLOTS) as usize]
    }

    fn count_mut(&mut self, slot: u64) -> &mut u32 {
        &mut self.counts[(slot % SLOTS) as usize]
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_found_over_any_span() {
        let mut delivered = Delivered::default();
        let mut now = 0.0;
        while now < 30.0 {
            delivered.record(now);
            now += 0.01;
        }
        for span in [0.3, 1.0, 7.0, 25.0] {
            let rate = delivered.rate(now, span);
            assert!((rate - 100.0).abs() < 6.0, "{rate} over {span}");
        }
    }

    #[test]
    fn a_wider_span_forgets_what_is_older_than_it_knows() {
        let mut delivered = Delivered::default();
        for k in 0..1_000 {
            delivered.record(f64::from(k) * 0.01);
        }
        assert!((delivered.rate(10.0, 20.0) - 100.0).abs() < 10.0);
    }

    #[test]
    fn silence_counts_as_time() {
        let mut delivered = Delivered::default();
        (0..100).for_each(|k| delivered.record(f64::from(k) * 0.01));
        assert!((delivered.rate(2.0, 2.0) - 50.0).abs() < 3.0);
        assert_eq!(delivered.rate(1_000.0, 1.0), 0.0);
    }
}
