/// A limit from which on there is none.
pub(crate) const NO_LIMIT: usize = 1_000_000;

/// The floor, which is what a door uses; at most [`NO_LIMIT`].
pub(crate) fn whole(limit: f64) -> usize {
    (limit as usize).clamp(1, NO_LIMIT)
}
