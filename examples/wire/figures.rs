/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Successes per second.
    pub(crate) goodput: f64,
    /// Overloads among successes and overloads.
    pub(crate) waste: f64,
}
