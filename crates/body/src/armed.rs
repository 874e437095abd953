use http_body::Body;

use crate::{End, Hook};

/// A hook that has not been called yet; dropped so, it is called with [`End::Dropped`].
pub(crate) struct Armed<H: Hook>(Option<H>);

impl<H: Hook> Armed<H> {
    #[inline]
    pub(crate) fn new(hook: H) -> Self {
        Self(Some(hook))
    }

    /// Calls the hook, unless it has been called.
    #[inline]
    pub(crate) fn fire(&mut self, end: End<'_>) {
        if let Some(hook) = self.0.take() {
            hook.on_end(end);
        }
    }

    /// On a body that has ended it is called, on another it is told so.
    #[inline]
    pub(crate) fn fire_if_ended(mut self, body: &impl Body) -> Self {
        if !body.is_end_stream() {
            self.open();
        } else if let Some(hook) = self.0.take() {
            hook.on_no_body();
        }
        self
    }

    pub(crate) fn open(&mut self) {
        self.0.iter_mut().for_each(Hook::on_open);
    }

    #[inline]
    pub(crate) fn poll(&mut self) {
        self.0.iter_mut().for_each(Hook::on_poll);
    }

    pub(crate) fn has_fired(&self) -> bool {
        self.0.is_none()
    }
}

impl<H: Hook> Drop for Armed<H> {
    #[inline]
    fn drop(&mut self) {
        self.fire(End::Dropped);
    }
}
