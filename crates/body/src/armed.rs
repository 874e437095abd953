use crate::{End, Hook};

/// A hook that has not been called yet; dropped so, it is called with [`End::Dropped`].
pub(crate) struct Armed<H: Hook>(Option<H>);

impl<H: Hook> Armed<H> {
    pub(crate) fn new(hook: H) -> Self {
        Self(Some(hook))
    }

    /// Calls the hook, unless it has been called.
    pub(crate) fn fire(&mut self, end: End<'_>) {
        if let Some(hook) = self.0.take() {
            hook.on_end(end);
        }
    }

    pub(crate) fn has_fired(&self) -> bool {
        self.0.is_none()
    }
}

impl<H: Hook> Drop for Armed<H> {
    fn drop(&mut self) {
        self.fire(End::Dropped);
    }
}
