//! A stack over a strict service, and what it has to prove.

use futures_util::future::join_all;
use tidegate::{BoxError, Error, GateHandle, GateLayer, HoldHead};
use tower::{Layer, Service, ServiceExt};

use crate::strict::{Strict, StrictError};
use crate::support::assert_free;

pub(super) const LIMIT: usize = 3;

/// A stack in which a gate of 3 stands somewhere above a [`Strict`].
pub(super) struct Stack<S> {
    pub(super) gate: GateHandle,
    pub(super) strict: Strict,
    pub(super) service: S,
}

pub(super) fn stack<S>(
    strict: Strict,
    build: impl FnOnce(GateLayer<HoldHead>, Strict) -> S,
) -> Stack<S> {
    let gate = GateLayer::new(LIMIT).hold_head();
    Stack {
        gate: gate.handle(),
        service: build(gate, strict.clone()),
        strict,
    }
}

impl<S> Stack<S>
where
    S: Service<String, Response = u32, Error: Into<BoxError>, Future: Send> + Clone,
{
    pub(super) async fn send(&self) -> Result<u32, Error> {
        let answer = self.service.clone().oneshot("tide".to_owned());
        answer.await.map_err(Error::service)
    }

    pub(super) async fn serves(&self) {
        for answer in join_all((0..10).map(|_| self.send())).await {
            assert_eq!(answer.unwrap(), 4);
        }
        let mut front = self.service.clone();
        for _ in 0..3 {
            let front = front.ready().await.map_err(Error::service).unwrap();
            let answer = front.call("ebb".to_owned()).await;
            assert_eq!(answer.map_err(Error::service).unwrap(), 3);
        }
        assert_free(&self.gate, LIMIT);
    }

    pub(super) async fn one_that_is_ready_and_dropped_leaves_nothing(&self) {
        let mut idle = self.service.clone();
        idle.ready().await.map_err(Error::service).unwrap();
        drop(idle);
        assert_free(&self.gate, LIMIT);
    }

    pub(super) async fn no_readiness_is_an_error_and_frees_its_place(&self) {
        let calls = self.strict.calls();
        self.strict.break_readiness(true);
        let error = self.send().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::NotReady));
        assert_eq!(self.strict.calls(), calls);
        assert_free(&self.gate, LIMIT);
        self.strict.break_readiness(false);
    }

    pub(super) async fn keeps_the_contract(&self) {
        self.serves().await;
        self.one_that_is_ready_and_dropped_leaves_nothing().await;
        self.no_readiness_is_an_error_and_frees_its_place().await;
        self.serves().await;
    }
}

pub(super) fn gate_alone()
-> Stack<impl Service<String, Response = u32, Error = Error, Future: Send> + Clone> {
    stack(Strict::default(), |gate, strict| gate.layer(strict))
}
