use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Lets tasks go one after the other, in the order in which they took their turns, whatever order
/// they are polled in.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    taken: u64,
    /// Whose turn it is.
    next: u64,
    over: BTreeSet<u64>,
    waiting: BTreeMap<u64, Waker>,
}

/// Ready when all turns that were taken before are over. It is over when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    number: u64,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(self: &Arc<Self>) -> Turn {
        let mut state = self.state();
        state.taken += 1;
        Turn {
            turns: Arc::clone(self),
            number: state.taken - 1,
        }
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.turns.state();
        if state.next == self.number {
            return Poll::Ready(());
        }
        state.waiting.insert(self.number, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = self.turns.state();
            let state = &mut *state;
            state.waiting.remove(&self.number);
            state.over.insert(self.number);
            while state.over.remove(&state.next) {
                state.next += 1;
            }
            state.waiting.remove(&state.next)
        };
        if let Some(next) = next {
            next.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ready(turn: &mut Turn) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(turn).poll(&mut cx).is_ready()
    }

    #[test]
    fn a_turn_comes_when_all_before_it_are_over() {
        let turns = Arc::new(Turns::default());
        let [mut first, mut second, third, mut fourth] = [0; 4].map(|_| turns.take());
        assert!(!is_ready(&mut fourth) && !is_ready(&mut second) && is_ready(&mut first));
        drop(third);
        assert!(!is_ready(&mut fourth) && !is_ready(&mut second));
        drop(first);
        assert!(!is_ready(&mut fourth) && is_ready(&mut second));
        drop(second);
        assert!(is_ready(&mut fourth));
        let state = turns.state();
        assert!(state.waiting.is_empty() && state.over.is_empty());
    }

    #[tokio::test]
    async fn whoever_waits_for_its_turn_is_woken() {
        let turns = Arc::new(Turns::default());
        let (first, second) = (turns.take(), turns.take());
        let waits = tokio::spawn(second);
        tokio::task::yield_now().await;
        drop(first);
        waits.await.unwrap();
    }
}
