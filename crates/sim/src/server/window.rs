/// A quota per fixed window; the first begins at the start.
#[derive(Debug)]
pub(super) struct Window {
    full: u32,
    limit: u32,
    per: u64,
    index: u64,
    used: u32,
}

impl Window {
    pub(super) fn new(limit: u32, per: u64) -> Self {
        Self {
            full: limit,
            limit,
            per,
            index: 0,
            used: 0,
        }
    }

    /// Takes one of this window's, if any is left.
    pub(super) fn take(&mut self, now: u64) -> bool {
        let index = now / self.per;
        if index != self.index {
            self.index = index;
            self.used = 0;
        }
        let there = self.used < self.limit;
        self.used += u32::from(there);
        there
    }

    /// So many parts of its quota from now on.
    pub(super) fn scale(&mut self, capacity: f64) {
        self.limit = if capacity > 0.0 {
            (f64::from(self.full) * capacity).round().max(1.0) as u32
        } else {
            0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lets_through_its_quota_each_time() {
        let mut window = Window::new(60, 1_000_000_000);
        let mut passed = [0; 3];
        for ms in 0..3_000_u64 {
            passed[(ms / 1_000) as usize] += u32::from(window.take(ms * 1_000_000));
        }
        assert_eq!(passed, [60, 60, 60]);
    }
}
