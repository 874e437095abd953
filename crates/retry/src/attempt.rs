/// Which attempt at a request this is.
///
/// It is in the extensions of each `http::Request` that [`Retry`](crate::Retry) sends, and in a
/// task-local while the services below are polled, since a `reqwest::Request` keeps its extensions to
/// itself. What is spawned below, such as the worker of tower's `Buffer`, does not see the task-local.
///
/// ```
/// use tidegate_retry::Attempt;
///
/// fn log<B>(request: &http::Request<B>) {
///     let attempt = request.extensions().get::<Attempt>().copied();
///     println!("attempt {}", attempt.or_else(Attempt::current).map_or(1, |a| a.number));
/// }
/// # log(&http::Request::new(()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Attempt {
    /// 1 is the first.
    pub number: u32,
}

tokio::task_local! {
    static CURRENT: Attempt;
}

impl Attempt {
    pub(crate) fn new(number: u32) -> Self {
        Self { number }
    }

    /// The attempt that the calling code is a part of, if it is polled below a
    /// [`Retry`](crate::Retry).
    pub fn current() -> Option<Self> {
        CURRENT.try_get().ok()
    }

    /// Polls what this attempt is made of.
    pub(crate) fn scope<T>(self, poll: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self, poll)
    }
}
