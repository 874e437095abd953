use std::collections::HashMap;
use std::task::{Context, Poll, ready};

use tokio::task::{Id, JoinSet};

use crate::failed::Failed;
use crate::job::Begun;
use crate::panicked::Panicked;
use crate::told::Told;

/// The tries that are under way, each a task. All of them end when this is dropped.
pub(crate) struct Tries<R, T> {
    begin: Begin<R, T>,
    tasks: JoinSet<Told<T>>,
    begun: HashMap<Id, Begun<R>>,
}

/// What became of a try.
type Over<R, T> = Result<(Begun<R>, Told<T>), Cancelled>;

/// The runtime of a task shuts down: it was dropped where it was.
pub(crate) struct Cancelled;

/// Has a task send a request: boxed, so that neither the stack nor the closure shows in a type of ours.
type Begin<R, T> = Box<dyn FnMut(usize, R, &mut JoinSet<Told<T>>) -> Id + Send>;

impl<R, T: Send + 'static> Tries<R, T> {
    /// `attempt` is a try of the request with that index.
    pub(crate) fn new<A>(mut attempt: impl FnMut(usize, R) -> A + Send + 'static) -> Self
    where
        A: Future<Output = Told<T>> + Send + 'static,
    {
        Self {
            begin: Box::new(move |index, request, tasks| tasks.spawn(attempt(index, request)).id()),
            tasks: JoinSet::new(),
            begun: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.begun.len()
    }

    pub(crate) fn begin(&mut self, request: R, begun: Begun<R>) {
        let task = (self.begin)(begun.index, request, &mut self.tasks);
        self.begun.insert(task, begun);
    }

    /// The next one that ends; `None` if none is under way. One that did not end stays under way.
    pub(crate) fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Option<Over<R, T>>> {
        let Some(joined) = ready!(self.tasks.poll_join_next_with_id(context)) else {
            return Poll::Ready(None);
        };
        let (id, told) = match joined {
            Ok(told) => told,
            Err(error) => {
                let id = error.id();
                let Ok(payload) = error.try_into_panic() else {
                    return Poll::Ready(Some(Err(Cancelled)));
                };
                let panicked = Panicked::new(&*payload);
                (id, Told::new(Err(Failed::for_good(panicked))))
            }
        };
        let begun = self.begun.remove(&id).expect("a task for each of them");
        Poll::Ready(Some(Ok((begun, told))))
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = usize> {
        self.begun.values().map(|begun| begun.index)
    }
}
