//! Over a service that panics when it is called without having been ready: a gate alone, and with
//! each of tower's layers.

use tidegate::{BoxError, GateLayer, Units};
use tower::buffer::BufferLayer;
use tower::load_shed::LoadShedLayer;
use tower::load_shed::error::Overloaded;
use tower::retry::RetryLayer;
use tower::timeout::TimeoutLayer;
use tower::util::{BoxCloneService, BoxCloneSyncService};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::retry::{ThreeAttempts, three_attempts};
use crate::stack::{LIMIT, Stack, gate_alone, stack};
use crate::strict::{Strict, StrictError};
use crate::support::assert_free;

#[tokio::test]
#[should_panic(expected = "called without having been ready")]
async fn the_strict_service_panics_when_a_fresh_clone_is_called() {
    let mut polled = Strict::default();
    polled.ready().await.unwrap();
    drop(polled.clone().call("tide".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_gate_calls_an_instance_that_has_been_ready() {
    gate_alone().keeps_the_contract().await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_timeout() {
    stack(Strict::default(), |gate, strict| {
        gate.layer(TimeoutLayer::new(1.s()).layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        TimeoutLayer::new(1.s()).layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_retry() {
    stack(Strict::default(), |gate, strict| {
        gate.layer(three_attempts().layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        three_attempts().layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_under_a_buffer() {
    stack(Strict::default(), |gate, strict| {
        BufferLayer::new(16).layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

/// A buffer whose service cannot get ready is broken for good, and so is only tried last.
#[tokio::test(start_paused = true)]
async fn so_it_does_over_a_buffer() {
    let stack = stack(Strict::default(), |gate, strict| {
        gate.layer(BufferLayer::new(16).layer(strict))
    });
    stack.serves().await;
    stack.one_that_is_ready_and_dropped_leaves_nothing().await;
    stack.no_readiness_is_an_error_and_frees_its_place().await;
    assert!(stack.send().await.is_err());
    assert_free(&stack.gate, LIMIT);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_load_shed() {
    stack(Strict::default(), |gate, strict| {
        LoadShedLayer::new().layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::ready_at_once(), |gate, strict| {
        gate.layer(LoadShedLayer::new().layer(strict))
    })
    .keeps_the_contract()
    .await;
}

/// It asks once and does not wait, as it is meant to.
#[tokio::test(start_paused = true)]
async fn a_load_shed_under_a_gate_sheds_what_is_not_ready_at_once() {
    let stack = stack(Strict::default(), |gate, strict| {
        gate.layer(LoadShedLayer::new().layer(strict))
    });
    let error = stack.send().await.unwrap_err();
    assert!(error.find::<Overloaded>().is_some());
    assert!(error.refused().is_none());
    assert_free(&stack.gate, LIMIT);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_boxed_service() {
    stack(Strict::default(), |gate, strict| {
        gate.layer(BoxCloneService::new(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        gate.layer(BoxCloneSyncService::new(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        BoxCloneService::new(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        BoxCloneSyncService::new(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_another_gate() {
    let other = GateLayer::new(2).hold_head();
    stack(Strict::default(), |gate, strict| {
        other.layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        gate.layer(other.layer(strict))
    })
    .keeps_the_contract()
    .await;
    assert_free(&other.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_in_a_stack_of_everything() {
    stack(Strict::default(), |gate, strict| {
        ServiceBuilder::new()
            .layer(BoxCloneSyncService::layer())
            .timeout(60.s())
            .layer(three_attempts())
            .buffer(16)
            .load_shed()
            .layer(gate)
            .timeout(5.s())
            .service(strict)
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_attempt_of_a_retry_gets_ready_and_takes_its_own_permit() {
    async fn proves<S>(stack: Stack<S>)
    where
        S: Service<String, Response = u32, Error: Into<BoxError>, Future: Send> + Clone,
    {
        stack.strict.fail_next_calls(2);
        assert_eq!(stack.send().await.unwrap(), 4);
        assert_eq!(stack.strict.calls(), 3);
        stack.strict.fail_next_calls(3);
        let error = stack.send().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::Failed));
        assert_eq!(stack.strict.calls(), 6);
        assert_free(&stack.gate, LIMIT);
    }
    proves(stack(Strict::default(), |gate, strict| {
        three_attempts().layer(gate.layer(strict))
    }))
    .await;
    proves(stack(Strict::default(), |gate, strict| {
        gate.layer(three_attempts().layer(strict))
    }))
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_readiness_for_the_second_attempt_ends_it_and_frees_its_place() {
    async fn proves<S>(stack: Stack<S>)
    where
        S: Service<String, Response = u32, Error: Into<BoxError>, Future: Send> + Clone,
    {
        stack.strict.fail_next_calls(1);
        let error = stack.send().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::NotReady));
        assert_eq!(stack.strict.calls(), 1);
        assert_free(&stack.gate, LIMIT);
    }
    let breaking = |strict: &Strict| {
        RetryLayer::new(ThreeAttempts {
            made: 0,
            breaks: Some(strict.clone()),
        })
    };
    proves(stack(Strict::default(), |gate, strict| {
        breaking(&strict).layer(gate.layer(strict))
    }))
    .await;
    proves(stack(Strict::default(), |gate, strict| {
        gate.layer(breaking(&strict).layer(strict))
    }))
    .await;
}
