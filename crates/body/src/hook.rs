use crate::End;
use crate::armed::Armed;

/// What to do when a body has ended.
///
/// A closure is a hook; its parameter needs its type written out: `|end: End<'_>| …`.
pub trait Hook {
    /// Called once if the body has not ended when the hook is put on it.
    fn on_open(&mut self) {}

    /// Called whenever somebody asks the body for its next frame. It should be cheap, and not touch
    /// the response it is attached to.
    fn on_poll(&mut self) {}

    /// Called with each part of the data, as it is read.
    fn on_data(&mut self, _data: &[u8]) {}

    /// Called instead of all others if the body has ended when the hook is put on it.
    fn on_no_body(self)
    where
        Self: Sized,
    {
        self.on_end(End::Complete(None));
    }

    /// Called once, where the end becomes known: from inside the poll that finds it, or from the
    /// body's drop. It should neither block nor panic.
    fn on_end(self, end: End<'_>);
}

/// Both, the first one first. If that panics at the end, the second is told that the body was dropped.
impl<A: Hook, B: Hook> Hook for (A, B) {
    #[inline]
    fn on_open(&mut self) {
        self.0.on_open();
        self.1.on_open();
    }

    #[inline]
    fn on_poll(&mut self) {
        self.0.on_poll();
        self.1.on_poll();
    }

    #[inline]
    fn on_data(&mut self, data: &[u8]) {
        self.0.on_data(data);
        self.1.on_data(data);
    }

    #[inline]
    fn on_no_body(self) {
        self.0.on_no_body();
        self.1.on_no_body();
    }

    #[inline]
    fn on_end(self, end: End<'_>) {
        let mut second = Armed(Some(self.1));
        self.0.on_end(end);
        second.fire(end);
    }
}

impl<F: FnOnce(End<'_>)> Hook for F {
    fn on_end(self, end: End<'_>) {
        self(end);
    }
}
