use std::fmt;
use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::batch::Batch;
use crate::failed::Finish;
use crate::results::Results;
use crate::summary::Summary;
use crate::told::attempt;
use crate::tries::Tries;

/// Many requests, and what is made of their answers: to be [run](Self::run).
#[must_use = "nothing is sent before it is run"]
pub struct Each<S, Src: Stream, F> {
    batch: Batch<S, Src>,
    each: F,
}

impl<S, Src: Stream, F> Each<S, Src, F> {
    pub(crate) fn new(batch: Batch<S, Src>, each: F) -> Self {
        Self { batch, each }
    }

    /// Runs to the end, and tells what became of it. Dropped before, it ends what is under way.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled, and if the input panics.
    pub async fn run<A>(self) -> Summary
    where
        S: Service<Src::Item> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        S::Response: Send,
        Src::Item: Send + 'static,
        F: Fn(usize, Result<S::Response, Error>) -> A + Send + Sync + 'static,
        A: Future + Send + 'static,
        A::Output: Finish,
        <A::Output as Finish>::Value: Send + 'static,
    {
        let mut results = self.results();
        while results.next().await.is_some() {}
        results.into_summary()
    }

    /// The results as a stream, which is what drives the run: while nobody polls it nothing is begun, and
    /// what is under way goes on. Dropped, it ends what is under way.
    pub fn results<A>(self) -> Results<Src, <A::Output as Finish>::Value>
    where
        S: Service<Src::Item> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        S::Response: Send,
        Src::Item: Send + 'static,
        F: Fn(usize, Result<S::Response, Error>) -> A + Send + Sync + 'static,
        A: Future + Send + 'static,
        A::Output: Finish,
        <A::Output as Finish>::Value: Send + 'static,
    {
        let Batch {
            stack,
            source,
            settings,
            until,
        } = self.batch;
        let each = Arc::new(self.each);
        let tries = Tries::new(move |index, request| {
            let each = Arc::clone(&each);
            attempt(stack.clone(), request, move |answer| each(index, answer))
        });
        Results::new(source, settings, until, tries)
    }
}

impl<S, Src: Stream, F> fmt::Debug for Each<S, Src, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Each")
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}
