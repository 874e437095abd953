use std::error::Error;
use std::{fmt, io};

/// This machine ran out of something, which is not the upstream's failure.
///
/// ```
/// use std::io;
/// use tidegate_testkit::Exhausted;
///
/// let error = io::Error::other(io::Error::from(io::ErrorKind::AddrNotAvailable));
/// assert_eq!(Exhausted::find(&error), Some(Exhausted::LocalPorts));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exhausted {
    /// This process has as many files and sockets open as it may (`EMFILE`). See
    /// [`raise_descriptor_limit`].
    Descriptors,
    /// The whole system has as many open as it can (`ENFILE`).
    SystemDescriptors,
    /// No local port is free for another connection to the same address (`EADDRNOTAVAIL`):
    /// finished ones keep theirs for a minute.
    LocalPorts,
}

/// The same number on every Unix.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

impl Exhausted {
    /// What ran out, if that is what `error` or anything along its chain of sources says.
    pub fn find(error: &(dyn Error + 'static)) -> Option<Self> {
        let io = error.downcast_ref::<io::Error>();
        io.and_then(Self::from_io)
            .or_else(|| io?.get_ref().and_then(|inner| Self::find(inner)))
            .or_else(|| Self::find(error.source()?))
    }

    fn from_io(error: &io::Error) -> Option<Self> {
        match (error.raw_os_error(), error.kind()) {
            (Some(EMFILE), _) if cfg!(unix) => Some(Self::Descriptors),
            (Some(ENFILE), _) if cfg!(unix) => Some(Self::SystemDescriptors),
            (_, io::ErrorKind::AddrNotAvailable) => Some(Self::LocalPorts),
            _ => None,
        }
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "this process is out of file descriptors",
            Self::SystemDescriptors => "this system is out of file descriptors",
            Self::LocalPorts => "this machine is out of local ports",
        })
    }
}

impl Error for Exhausted {}

/// Raises how many files and sockets this process may have open as far as it may without
/// privileges, and says how many that is.
///
/// Each connection takes one at either end. A server on loopback calls it at its start; a client in
/// a process of its own may want to.
///
/// # Errors
///
/// If the system refuses; the limit stays as it was.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    rlimit::increase_nofile_limit(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapped(io::Error);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    #[cfg(unix)]
    fn it_is_found_by_number_at_any_depth() {
        for (number, exhausted) in [
            (EMFILE, Exhausted::Descriptors),
            (ENFILE, Exhausted::SystemDescriptors),
        ] {
            let error = Wrapped(io::Error::other(Wrapped(io::Error::from_raw_os_error(
                number,
            ))));
            assert_eq!(Exhausted::find(&error), Some(exhausted));
        }
    }

    #[test]
    fn a_refused_connection_is_the_upstreams() {
        let error = Wrapped(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(Exhausted::find(&error), None);
    }
}
