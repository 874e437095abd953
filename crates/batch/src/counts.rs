/// What became of the requests so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Of which the closure said that they are done.
    pub succeeded: usize,
    /// Of which the closure said at last that they failed, when a layer had refused to send the last
    /// try.
    pub refused: usize,
    /// Of which the closure said at last that they failed otherwise, those that panicked included.
    pub failed: usize,
    /// Whose closure or service panicked.
    pub panicked: usize,
    /// Done by an earlier run, as the checkpoint says.
    pub skipped: usize,
    /// Every try of every request.
    pub tries: usize,
    /// Tries that did not succeed.
    pub failed_tries: usize,
}

impl Counts {
    /// How many requests are over: `succeeded + refused + failed`.
    pub fn ended(&self) -> usize {
        self.succeeded + self.refused + self.failed
    }
}
