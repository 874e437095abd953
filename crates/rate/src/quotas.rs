use tidegate_admission::{Acquire, Charge, Costs, Door, Tab};

use crate::{Cost, FromBody, FromHead, Quota, Settle};

/// Two quotas, or more: charged all or none.
#[derive(Clone, Copy, Debug)]
pub struct And<A, B>(pub(crate) A, pub(crate) B);

/// What a layer charges a request for: a [`Quota`], or several.
pub trait Quotas<Request>: Clone {
    /// What the wait keeps of the costs.
    type Tab: Tab;
    /// What is kept until the response is there.
    type Kept: Keep;

    /// Asks for what the request costs.
    fn acquire(&self, door: &Door, request: &Request) -> Acquire<Self::Tab>;

    /// What is left once the request was answered.
    fn sent(acquire: &mut Acquire<Self::Tab>) -> Self::Kept;
}

/// How quotas settle a response `R`.
pub trait Settles<R> {
    /// What the caller gets.
    type Response;

    /// Settles, or sees to that.
    fn settle(&self, response: R, kept: Option<&Kept>) -> Self::Response;
}

/// What a request was charged, and where.
#[derive(Clone, Debug)]
pub struct Kept {
    door: Door,
    charge: Charge,
}

impl Kept {
    /// It did cost that much, in the pace of that number.
    pub(crate) fn settle(&self, number: usize, actual: u32) {
        self.door.correct(&self.charge, number, actual);
    }
}

/// Nothing, or [`Kept`].
pub trait Keep {
    /// What was charged, if that is kept.
    fn kept(&self) -> Option<&Kept>;
}

impl Keep for () {
    #[inline]
    fn kept(&self) -> Option<&Kept> {
        None
    }
}

impl Keep for Kept {
    fn kept(&self) -> Option<&Kept> {
        Some(self)
    }
}

/// What each of several quotas costs, written into a list in the order of their numbers.
pub trait EachCost<Request> {
    /// Adds its own.
    fn write(&self, request: &Request, costs: &mut [u32; Costs::MOST]);
}

impl<Request, C: Cost<Request>, S> EachCost<Request> for Quota<C, S> {
    fn write(&self, request: &Request, costs: &mut [u32; Costs::MOST]) {
        costs[self.number] = self.cost.cost(request);
    }
}

impl<Request, A, B> EachCost<Request> for And<A, B>
where
    A: EachCost<Request>,
    B: EachCost<Request>,
{
    fn write(&self, request: &Request, costs: &mut [u32; Costs::MOST]) {
        self.0.write(request, costs);
        self.1.write(request, costs);
    }
}

impl<Request, C: Cost<Request> + Clone> Quotas<Request> for Quota<C> {
    type Tab = ();
    type Kept = ();

    #[inline]
    fn acquire(&self, door: &Door, request: &Request) -> Acquire {
        door.acquire(self.cost.cost(request))
    }

    #[inline]
    fn sent(acquire: &mut Acquire) {
        drop(acquire.take_door());
    }
}

macro_rules! charged {
    ($(($($parameter:ident),*) $quotas:ty;)*) => {$(
        impl<Request, $($parameter),*> Quotas<Request> for $quotas
        where
            Self: EachCost<Request> + Clone,
        {
            type Tab = Charge;
            type Kept = Kept;

            fn acquire(&self, door: &Door, request: &Request) -> Acquire<Charge> {
                let mut costs = [0; Costs::MOST];
                self.write(request, &mut costs);
                door.acquire_each(Costs::new(&costs))
            }

            fn sent(acquire: &mut Acquire<Charge>) -> Kept {
                let charge = acquire.tab();
                let door = acquire.take_door().expect("it has entered");
                Kept { door, charge }
            }
        }
    )*};
}

charged! {
    (C, F) Quota<C, FromHead<F>>;
    (C, F) Quota<C, FromBody<F>>;
    (A, B) And<A, B>;
}

impl<R, C, S: Settle<R>> Settles<R> for Quota<C, S> {
    type Response = S::Response;

    #[inline]
    fn settle(&self, response: R, kept: Option<&Kept>) -> S::Response {
        self.settle.settle(response, kept, self.number)
    }
}

impl<R, A: Settles<R>, B: Settles<A::Response>> Settles<R> for And<A, B> {
    type Response = B::Response;

    fn settle(&self, response: R, kept: Option<&Kept>) -> B::Response {
        self.1.settle(self.0.settle(response, kept), kept)
    }
}
