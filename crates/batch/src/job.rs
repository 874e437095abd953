/// A request on its way, and how often it was tried before.
#[derive(Debug)]
pub(crate) struct Job<R> {
    pub(crate) index: usize,
    pub(crate) tries: u32,
    pub(crate) request: R,
}

/// A request that is being tried, and what to try again if that fails.
#[derive(Debug)]
pub(crate) struct Begun<R> {
    pub(crate) index: usize,
    /// This one included.
    pub(crate) tries: u32,
    spare: Option<R>,
}

type Copy<R> = Box<dyn FnMut(&R) -> Option<R> + Send>;

/// How often a request may be tried again, and how it is copied for that.
pub(crate) struct Again<R> {
    times: u32,
    copy: Copy<R>,
}

impl<R> Again<R> {
    pub(crate) fn never() -> Self {
        Self::new(0, |_| None)
    }

    pub(crate) fn new(times: u32, copy: impl FnMut(&R) -> Option<R> + Send + 'static) -> Self {
        let copy = Box::new(copy);
        Self { times, copy }
    }

    /// The request to send, and what is kept of it.
    pub(crate) fn begin(&mut self, job: Job<R>) -> (R, Begun<R>) {
        let more = job.tries < self.times;
        let begun = Begun {
            index: job.index,
            tries: job.tries.saturating_add(1),
            spare: more.then(|| (self.copy)(&job.request)).flatten(),
        };
        (job.request, begun)
    }
}

impl<R> Begun<R> {
    /// The next try, if there may be one.
    pub(crate) fn again(self) -> Option<Job<R>> {
        self.spare.map(|request| Job {
            index: self.index,
            tries: self.tries,
            request,
        })
    }
}
