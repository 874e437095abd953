use std::time::Duration;

/// Durations as they are said, of whole numbers: `50.ms()`, `5.s()`.
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::Units;
///
/// assert_eq!(50.ms(), Duration::from_millis(50));
/// assert_eq!(5.s(), Duration::from_secs(5));
/// ```
pub trait Units {
    /// So many milliseconds.
    fn ms(self) -> Duration;
    /// So many seconds.
    fn s(self) -> Duration;
}

impl Units for u64 {
    fn ms(self) -> Duration {
        Duration::from_millis(self)
    }

    fn s(self) -> Duration {
        Duration::from_secs(self)
    }
}
