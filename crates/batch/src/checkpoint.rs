use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Where a run writes down which of its requests are done, so that it can be taken up again.
///
/// A path is one; a label is for telling runs apart. The file is text: a line that says which run it is
/// of, then an index a line. Lines are only ever added, each by one write to the file when the closure has
/// said that its request is done, and, where the results are taken as a [stream](crate::Results), the next
/// one is asked for: whatever kills the process, only what was under way is sent again.
/// (What the machine loses with its power is not covered.) A last line that is not whole is ignored and
/// overwritten.
///
/// The requests of a run are known by their indices: the input has to be the same, in the same order,
/// each time. The length and the label are compared, and the run refuses a file of another one, or one
/// that another run has open (where the file system knows locks; on Windows nobody else can read it then).
///
/// ```
/// use tidegate_batch::Checkpoint;
///
/// let checkpoint = Checkpoint::new("done.idx").label("users of 2026-11-29");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub(crate) path: PathBuf,
    label: String,
}

impl Checkpoint {
    /// In this file, which is made if there is none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            label: String::new(),
        }
    }

    /// What the requests are, such as the name or the hash of their source. Default: empty.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        let label = label.into();
        Self { label, ..self }
    }

    /// The first line of its file.
    pub(crate) fn header(&self, requests: Option<usize>) -> String {
        let requests = requests.map_or("?".to_owned(), |requests| requests.to_string());
        format!(
            "tidegate-batch 1 requests={requests} label={:?}\n",
            self.label
        )
    }
}

impl<P: AsRef<Path>> From<P> for Checkpoint {
    fn from(path: P) -> Self {
        Self::new(path.as_ref())
    }
}

/// A checkpoint cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read or written.
    Io {
        /// Of the file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another run has it open.
    InUse {
        /// Of the file.
        path: PathBuf,
    },
    /// It is the checkpoint of another run, or another file altogether.
    Foreign {
        /// Of the file.
        path: PathBuf,
        /// Its first line, cut off where it is long.
        found: String,
        /// What the first line of this run's checkpoint is.
        expected: String,
    },
    /// One of its lines is not the index of a request of this run.
    Line {
        /// Of the file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What stands there, cut off where it is long.
        found: String,
    },
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "cannot use the checkpoint {}: {source}", path.display())
            }
            Self::InUse { path } => {
                write!(f, "another run uses the checkpoint {}", path.display())
            }
            Self::Foreign {
                path,
                found,
                expected,
            } => write!(
                f,
                "{} is not the checkpoint of this run: it begins with {found:?} instead of {expected:?}",
                path.display()
            ),
            Self::Line { path, line, found } => write!(
                f,
                "the checkpoint {} is damaged: line {line} is {found:?}, which is no index of this run",
                path.display()
            ),
        }
    }
}

impl std::error::Error for CheckpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
