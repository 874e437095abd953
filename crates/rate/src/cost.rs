/// Every request costs one.
#[derive(Clone, Copy, Debug, Default)]
pub struct One;

/// What a request costs.
///
/// A closure is a cost; its parameter needs its type written out: `|request: &Request<_>| …`.
pub trait Cost<Request> {
    /// In tokens; see [`RateLayer::cost`](crate::RateLayer::cost) for 0 and for more than the burst.
    fn cost(&self, request: &Request) -> u32;
}

impl<Request> Cost<Request> for One {
    #[inline]
    fn cost(&self, _request: &Request) -> u32 {
        1
    }
}

impl<Request, F: Fn(&Request) -> u32> Cost<Request> for F {
    #[inline]
    fn cost(&self, request: &Request) -> u32 {
        self(request)
    }
}
