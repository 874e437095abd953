/// How many attempts were sent. One that waited in a layer of ours, or that it refused, was not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    earlier: u32,
    /// The attempt under way was, or may have been.
    now: bool,
}

impl Sent {
    /// Another attempt is under way.
    pub(crate) fn begin(&mut self) {
        self.earlier = self.count();
        self.now = false;
    }

    /// Nobody says that the attempt under way still waits in a layer of ours.
    pub(crate) fn mark(&mut self) {
        self.now = true;
    }

    /// The attempt under way was refused, whatever it waited for before.
    pub(crate) fn take_back(&mut self) {
        self.now = false;
    }

    /// Whether the attempt under way was sent.
    pub(crate) fn is_now(self) -> bool {
        self.now
    }

    pub(crate) fn count(self) -> u32 {
        self.earlier.saturating_add(self.now.into())
    }
}
