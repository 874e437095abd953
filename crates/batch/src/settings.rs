use std::pin::Pin;

use crate::checkpoint::Checkpoint;
use crate::job::Again;
use crate::progress::Shown;
use crate::window::Window;

/// How a run is done.
pub(crate) struct Settings<R> {
    pub(crate) window: Window,
    pub(crate) in_order: bool,
    pub(crate) again: Again<R>,
    pub(crate) stop_at_first_failure: bool,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) progress: Shown,
}

impl<R> Settings<R> {
    pub(crate) fn new(window: usize) -> Self {
        Self {
            window: Window::new(window),
            in_order: false,
            again: Again::never(),
            stop_at_first_failure: false,
            checkpoint: None,
            progress: Shown::default(),
        }
    }
}

/// What a run goes on until, if it is not to go on to its end.
#[derive(Default)]
pub(crate) struct Until(pub(crate) Option<Pin<Box<dyn Future<Output = ()> + Send>>>);
