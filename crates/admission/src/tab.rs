use crate::charges::Charge;
use crate::costs::Costs;
use crate::meters::Stamp;

/// What one who enters keeps of what it was charged: `()` for one number, which a permit holds
/// anyway, or a [`Charge`] for one number in each pace.
pub trait Tab: Copy + Sealed {}

pub trait Sealed {
    fn costs(&self) -> Option<Costs>;
    fn charged(&mut self, stamp: Stamp);
    fn charge(&self) -> Option<Charge>;
}

impl Tab for () {}
impl Tab for Charge {}

impl Sealed for () {
    #[inline]
    fn costs(&self) -> Option<Costs> {
        None
    }

    #[inline]
    fn charged(&mut self, _stamp: Stamp) {}

    #[inline]
    fn charge(&self) -> Option<Charge> {
        None
    }
}

impl Sealed for Charge {
    fn costs(&self) -> Option<Costs> {
        Some(self.costs)
    }

    fn charged(&mut self, stamp: Stamp) {
        self.stamp = stamp;
    }

    fn charge(&self) -> Option<Charge> {
        Some(*self)
    }
}
