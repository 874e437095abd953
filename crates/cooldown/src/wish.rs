use tidegate_core::Pace;

/// How a door is to stand, as far as quotas tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wish {
    /// No more than so many in flight, if anything bounds them.
    pub limit: Option<usize>,
    /// No faster than this, if anything says how fast.
    pub pace: Option<Pace>,
}
