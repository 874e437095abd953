use std::fmt;

/// A scenario that cannot be read: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, if it was one.
    pub file: Option<String>,
    /// Line, from 1 on.
    pub line: usize,
    /// The key with those around it, as in `server.workers`; empty for the file itself.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl ScenarioError {
    /// Says in which file.
    #[must_use]
    pub fn file(self, file: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..self
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_deref().unwrap_or("scenario");
        write!(f, "{file}:{}: ", self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}
