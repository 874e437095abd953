use std::sync::Arc;

use tidegate_admission::{Acquire, Door};
use tidegate_classify::ResponseHead;
use tidegate_cooldown::Listener;

use crate::{Kept, Quotas, Settles};

/// Quotas that pause when the service asks for it.
#[derive(Clone, Debug)]
pub struct Hinted<Q> {
    quotas: Q,
    listener: Arc<Listener>,
}

impl<Q> Hinted<Q> {
    pub(crate) fn new(quotas: Q, listener: Listener) -> Self {
        Self {
            quotas,
            listener: Arc::new(listener),
        }
    }
}

impl<Request, Q: Quotas<Request>> Quotas<Request> for Hinted<Q> {
    type Tab = Q::Tab;
    type Kept = Q::Kept;

    #[inline]
    fn acquire(&self, door: &Door, request: &Request) -> Acquire<Q::Tab> {
        self.quotas.acquire(door, request)
    }

    #[inline]
    fn sent(acquire: &mut Acquire<Q::Tab>) -> Q::Kept {
        Q::sent(acquire)
    }
}

impl<R: ResponseHead, Q: Settles<R>> Settles<R> for Hinted<Q> {
    type Response = Q::Response;

    #[inline]
    fn settle(&self, response: R, kept: Option<&Kept>) -> Q::Response {
        self.listener.hear(response.status(), response.headers());
        self.quotas.settle(response, kept)
    }
}
