use std::time::Duration;

/// How long to stay away after a throttled request, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Wait {
    /// The service said so in its response.
    Said(Duration),
    /// The service said nothing; its documentation asks for at least this much.
    Invented(Duration),
}

impl Wait {
    /// How long.
    pub fn duration(self) -> Duration {
        match self {
            Self::Said(duration) | Self::Invented(duration) => duration,
        }
    }
}
