use tidegate_core::Error;

/// A request that is over, whatever became of it.
#[derive(Debug)]
pub struct Ended<T> {
    /// Which one it was, counted from 0 in the order of the input.
    pub index: usize,
    /// How often it was tried.
    pub tries: u32,
    /// What the closure made of it, at last. [`Panicked`](crate::Panicked) is found in the error if it
    /// panicked.
    pub result: Result<T, Error>,
}
