use http_body::Body;

use crate::{End, Hook};

/// A hook that has not been called yet; dropped so, it is called with [`End::Dropped`].
pub(crate) struct Armed<H: Hook>(pub(crate) Option<H>);

impl<H: Hook> Armed<H> {
    /// For one body: the hook is told that it is open, or is called now if it has ended.
    #[inline]
    pub(crate) fn on(body: &impl Body, hook: H) -> Self {
        if body.is_end_stream() {
            hook.on_no_body();
            return Self(None);
        }
        Self::open(hook)
    }

    #[inline]
    pub(crate) fn open(mut hook: H) -> Self {
        hook.on_open();
        Self(Some(hook))
    }

    /// Calls the hook, unless it has been called.
    #[inline]
    pub(crate) fn fire(&mut self, end: End<'_>) {
        if let Some(hook) = self.0.take() {
            hook.on_end(end);
        }
    }

    #[inline]
    pub(crate) fn poll(&mut self) {
        self.0.iter_mut().for_each(Hook::on_poll);
    }

    #[inline]
    pub(crate) fn data(&mut self, data: &[u8]) {
        self.0.iter_mut().for_each(|hook| hook.on_data(data));
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
