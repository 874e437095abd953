use std::any::Any;
use std::fmt;

/// A closure, or the service below it, panicked: the failure of one index, which is not tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// What the panic said.
    pub message: String,
}

impl Panicked {
    pub(crate) fn new(payload: &(dyn Any + Send)) -> Self {
        let words = payload.downcast_ref::<&str>().copied();
        let words = words.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self {
            message: words.unwrap_or("something that is no text").to_owned(),
        }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message)
    }
}

impl std::error::Error for Panicked {}
