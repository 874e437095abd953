use std::fmt;
use std::sync::Arc;

use tidegate_core::Steer;

use crate::blocking::Each;
use crate::checkpoint::Checkpoint;
use crate::failed::Finish;
use crate::job::Again;
use crate::progress::{Progress, Shown};
use crate::settings::Settings;

/// Many requests that threads send.
///
/// Requests are taken from the input when a thread has room for one. There are no more threads than
/// requests under way, and they end with the run.
pub struct Batch<I: Iterator> {
    pub(crate) source: I,
    pub(crate) settings: Settings<I::Item>,
    pub(crate) until: Box<dyn Fn() -> bool + Send>,
}

/// How many threads there are at most where nothing else is said.
const WINDOW: usize = 64;

impl<I: Iterator> Batch<I> {
    /// These requests. The iterator may block: it is asked by one thread at a time, and what the others send
    /// goes on meanwhile. Until it answers the run does not end.
    pub fn new(requests: impl IntoIterator<IntoIter = I>) -> Self {
        Self {
            source: requests.into_iter(),
            settings: Settings::new(WINDOW),
            until: Box::new(|| false),
        }
    }

    /// At most this many threads, whatever the limit; default 64.
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

    /// Follows the limit of this gate: no more tries at once than it allows, and 8 that wait for it. That
    /// it has moved is noticed with the next end of a try. When it is closed or drained, the run
    /// [stops](crate::Stopped::Closed).
    #[must_use]
    pub fn steer(mut self, handle: impl Steer + 'static) -> Self {
        self.settings.window.steer = Some(Arc::new(handle));
        self
    }

    /// As [in the batch of tasks](crate::Batch::again).
    #[must_use]
    pub fn again(
        mut self,
        times: u32,
        copy: impl FnMut(&I::Item) -> Option<I::Item> + Send + 'static,
    ) -> Self {
        self.settings.again = Again::new(times, copy);
        self
    }

    /// As [in the batch of tasks](crate::Batch::stop_at_first_failure).
    #[must_use]
    pub fn stop_at_first_failure(mut self) -> Self {
        self.settings.stop_at_first_failure = true;
        self
    }

    /// Begins nothing more once this says so, which is asked before each try; what is under way is
    /// finished, and the summary says what is [left](crate::Left).
    #[must_use]
    pub fn until(mut self, until: impl Fn() -> bool + Send + 'static) -> Self {
        self.until = Box::new(until);
        self
    }

    /// As [in the batch of tasks](crate::Batch::resume_from).
    #[must_use]
    pub fn resume_from(mut self, checkpoint: impl Into<Checkpoint>) -> Self {
        self.settings.checkpoint = Some(checkpoint.into());
        self
    }

    /// Tells how far it is, whenever a try ends and a tenth of a second has passed.
    #[must_use]
    pub fn progress(mut self, progress: impl Progress + Send + 'static) -> Self {
        self.settings.progress = Shown::to(progress);
        self
    }

    /// What a try is: the closure is called on a thread, with the index of the request and the request.
    ///
    /// It says how the try ended with a `Result`, of whose errors only a [`Failed`](crate::Failed) may be for good. When it panics, that
    /// index has failed, and the others go on.
    pub fn each<F, V>(self, each: F) -> Each<I, F>
    where
        F: Fn(usize, I::Item) -> V + Sync,
        V: Finish,
    {
        Each::new(self, each)
    }
}

impl<I: Iterator> fmt::Debug for Batch<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("window", &self.settings.window)
            .finish_non_exhaustive()
    }
}
