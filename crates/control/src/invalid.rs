use std::fmt;

/// A number that is no setting of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Invalid {
    name: &'static str,
    value: f64,
    expected: &'static str,
}

impl Invalid {
    pub(crate) fn new(name: &'static str, value: f64, expected: &'static str) -> Self {
        Self {
            name,
            value,
            expected,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            value,
            expected,
        } = self;
        write!(f, "{name} must be {expected}, not {value}")
    }
}

impl std::error::Error for Invalid {}
