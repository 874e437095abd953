/// In flight from which on a limit counts as in use: nine tenths of it.
pub(crate) fn in_use_from(limit: f64) -> usize {
    let limit = limit as usize;
    // Of any limit: nine times the largest is no number.
    (limit / 10 * 9 + limit % 10 * 9 / 10).max(1)
}
