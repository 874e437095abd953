/// How chance spreads the back-off, so that those who failed together do not come back together.
///
/// With `ceiling = min(cap, base · 2ⁿ⁻¹)` before the `n`th retry (Brooker, "Exponential Backoff And
/// Jitter", AWS Architecture Blog, 2015); all of them at least the floor:
///
/// ```text
/// None          ceiling
/// Full          random(floor, ceiling)
/// Equal         random(ceiling / 2, ceiling)
/// Decorrelated  min(cap, random(base, 3 · previous)), where previous is base at first
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Jitter {
    /// No chance: for tests.
    None,
    /// From the floor up. The default: the least work for the service, by that source.
    #[default]
    Full,
    /// The upper half.
    Equal,
    /// Grows from what was waited last, not by the number of the retry.
    Decorrelated,
}
