use std::fmt;
use std::sync::Arc;

use futures_util::Stream;
use futures_util::stream::{self, Iter};
use tidegate_core::{BoxError, Error, Steer};
use tower_service::Service;

use crate::checkpoint::Checkpoint;
use crate::failed::Finish;
use crate::job::Again;
use crate::progress::{Progress, Shown};
use crate::results::Results;
use crate::settings::{Settings, Until};
use crate::told::attempt;
use crate::tries::Tries;

/// Many requests that go through one stack.
///
/// Requests are taken from the input when there is room for them. Each is a task that sends it through a
/// clone of the stack and hands the answer to the closure, which reads the body: so that a permit that a
/// body holds ends, and the next request can start. See the [crate](crate) for an example.
///
/// A stack whose gate may not be waited for (`max_queue`, `max_wait`) needs to be
/// [steered](Self::steer) by, or what does not fit is refused.
pub struct Batch<S, Src: Stream> {
    stack: S,
    source: Src,
    settings: Settings<Src::Item>,
    until: Until,
}

/// How many tries are under way at most where nothing else is said.
const WINDOW: usize = 1_000;

impl<S, I: Iterator> Batch<S, Iter<I>> {
    /// These requests, through this stack. An iterator that blocks holds up its run, and what else is on its
    /// thread: a [stream](Self::stream) waits instead.
    pub fn new(stack: S, requests: impl IntoIterator<IntoIter = I>) -> Self {
        Self::stream(stack, stream::iter(requests))
    }
}

impl<S, Src: Stream> Batch<S, Src> {
    /// The requests of a stream, through this stack.
    pub fn stream(stack: S, requests: Src) -> Self {
        Self {
            stack,
            source: requests,
            settings: Settings::new(WINDOW),
            until: Until::default(),
        }
    }

    /// At most this many tries at once, whatever the limit; default 1,000. In
    /// [input order](Self::in_order) no more requests than this are begun and not yet taken.
    ///
    /// # Panics
    ///
    /// If it is 0.
    #[must_use]
    #[track_caller]
    pub fn window(mut self, window: usize) -> Self {
        assert!(window > 0, "a window is at least 1");
        self.settings.window.most = window;
        self
    }

    /// Follows the limit of this layer of the stack: no more tries at once than it allows, and a
    /// [few more](Self::ahead). Default: none, the [window](Self::window) is full all the time, and what
    /// is too much waits at the stack's layers.
    ///
    /// When the limit falls, nothing is begun until so many have ended. When it is raised, it is noticed
    /// with the next end of a try, or within 100 ms. When the layer is closed or drained, the run
    /// [stops](crate::Stopped::Closed).
    #[must_use]
    pub fn steer(mut self, handle: impl Steer + 'static) -> Self {
        self.settings.window.steer = Some(Arc::new(handle));
        self
    }

    /// How many tries beyond the limit: those that wait for it, and those that have left it and are not
    /// at the end of their closure. Default 8: enough that the limit is never idle, if the closure does
    /// little more than read the body. A closure that is longer at work needs more, or should hand its
    /// work to whoever takes the [results](Results).
    #[must_use]
    pub fn ahead(mut self, ahead: usize) -> Self {
        self.settings.window.ahead = ahead;
        self
    }

    /// The results in the order of the input; default: as they end.
    ///
    /// One that takes long holds back those behind it: at most a [window](Self::window) of them.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.settings.in_order = true;
        self
    }

    /// A request that failed goes back to the tail, up to so many times; default 0. `copy` makes the
    /// copy that is kept meanwhile; one of which it makes none is not tried again. For reqwest it is
    /// `Request::try_clone`, for others `|request| Some(request.clone())`.
    ///
    /// It is tried again when all others have been begun, without a pause; once 1,000 stand at the tail,
    /// they come before the fresh ones, so that memory stays bounded. A retry that waits, or
    /// goes by what failed, is a layer of the stack. What panicked is not tried again.
    #[must_use]
    pub fn again(
        mut self,
        times: u32,
        copy: impl FnMut(&Src::Item) -> Option<Src::Item> + Send + 'static,
    ) -> Self {
        self.settings.again = Again::new(times, copy);
        self
    }

    /// Begins nothing more once a request has failed for good; what is under way is finished. Default:
    /// goes on.
    #[must_use]
    pub fn stop_at_first_failure(mut self) -> Self {
        self.settings.stop_at_first_failure = true;
        self
    }

    /// Begins nothing more once this has come, such as `ctrl_c()`; what is under way is finished, and
    /// the summary says what is [left](crate::Left).
    #[must_use]
    pub fn until<U: Future + Send + 'static>(mut self, until: U) -> Self {
        self.until = Until(Some(Box::pin(async move {
            until.await;
        })));
        self
    }

    /// Writes down which requests are done, in this file, and leaves out those that stand there already.
    /// What failed is not done: it is sent again by the next run.
    ///
    /// A file that cannot be used [stops](crate::Stopped::Checkpoint) the run.
    #[must_use]
    pub fn resume_from(mut self, checkpoint: impl Into<Checkpoint>) -> Self {
        self.settings.checkpoint = Some(checkpoint.into());
        self
    }

    /// Tells how far it is: a closure `|moment: &Moment|`, or (feature `indicatif`) a `Bar`.
    #[must_use]
    pub fn progress(mut self, progress: impl Progress + Send + 'static) -> Self {
        self.settings.progress = Shown::to(progress);
        self
    }

    /// What is made of each answer: the closure is called in the request's own task, with the index of the
    /// request and what the stack answered, and its future reads the body.
    ///
    /// It says how the try ended with a `Result`, of whose errors only a [`Failed`](crate::Failed) may be for good. When it panics, that
    /// index has failed, and the others go on.
    pub fn each<F, A>(self, each: F) -> Results<Src, <A::Output as Finish>::Value>
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
        let (stack, each) = (self.stack, Arc::new(each));
        let tries = Tries::new(move |index, request| {
            let each = Arc::clone(&each);
            attempt(stack.clone(), request, move |answer| each(index, answer))
        });
        Results::new(self.source, self.settings, self.until, tries)
    }
}

impl<S, Src: Stream> fmt::Debug for Batch<S, Src> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("window", &self.settings.window)
            .finish_non_exhaustive()
    }
}
