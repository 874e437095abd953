use crate::Budget;
use tokio::time::Instant;

/// Which budget pays for a request: a [`Budget`] for all, or one of [`BudgetPerKey`](crate::BudgetPerKey).
pub trait BudgetFor<Request>: sealed::Sealed<Request> {}

impl<B: sealed::Sealed<Request>, Request> BudgetFor<Request> for B {}

pub(crate) mod sealed {
    use super::{Budget, Instant};

    pub trait Sealed<Request> {
        /// Which of several budgets is that of the request.
        fn find(&self, request: &Request, now: Instant) -> usize;
        fn deposit(&self, which: usize, now: Instant);
        fn withdraw(&self, which: usize, now: Instant) -> bool;
        fn give_back(&self, which: usize);
    }

    impl<Request> Sealed<Request> for Budget {
        fn find(&self, _: &Request, _: Instant) -> usize {
            0
        }

        fn deposit(&self, _: usize, now: Instant) {
            self.deposit(now);
        }

        fn withdraw(&self, _: usize, now: Instant) -> bool {
            self.withdraw(now)
        }

        fn give_back(&self, _: usize) {
            self.give_back();
        }
    }
}
