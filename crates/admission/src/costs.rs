use tidegate_core::FurtherPaces;

/// What a request costs in each pace of a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    each: [u32; Costs::MOST],
    /// Of those that are not given: the first.
    given: u8,
}

impl Costs {
    /// How many paces a door may have.
    pub const MOST: usize = 1 + FurtherPaces::MOST;

    /// So much in each pace, in the order in which they were added; the first also in those that are
    /// not given. What is given for more than [`MOST`](Self::MOST) is ignored.
    pub fn new(costs: &[u32]) -> Self {
        let mut each = [0; Self::MOST];
        let given = costs.len().min(Self::MOST);
        each[..given].copy_from_slice(&costs[..given]);
        Self {
            each,
            given: given as u8,
        }
    }

    /// The same in every pace.
    pub fn same(cost: u32) -> Self {
        Self::new(&[cost])
    }

    /// The cost in the pace of that number, counted from 0.
    pub fn of(&self, pace: usize) -> u32 {
        if pace < usize::from(self.given) {
            self.each[pace]
        } else {
            self.each[0]
        }
    }
}
