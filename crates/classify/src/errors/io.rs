use std::error::Error;
use std::io::{self, ErrorKind};

use tidegate_core::{Cause, Outcome};

/// `EMFILE` and `ENFILE` have these numbers on every Unix; `WSAEMFILE` is Windows' own.
const OUT_OF_FILES: &[i32] = if cfg!(windows) { &[10024] } else { &[23, 24] };

pub(super) fn outcome(error: &(dyn Error + 'static)) -> Option<Outcome> {
    error.downcast_ref().and_then(of)
}

pub(super) fn was_never_sent(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

pub(super) fn of(error: &io::Error) -> Option<Outcome> {
    let cause = match error.kind() {
        ErrorKind::TimedOut => Cause::TimedOut,
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::AddrNotAvailable => Cause::Connection,
        _ if error
            .raw_os_error()
            .is_some_and(|code| OUT_OF_FILES.contains(&code)) =>
        {
            Cause::Connection
        }
        _ => return None,
    };
    Some(Outcome::Overload(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_was_lost_is_an_overload_and_a_file_that_is_missing_says_nothing() {
        let lost = Some(Outcome::Overload(Cause::Connection));
        for (kind, expected) in [
            (ErrorKind::ConnectionRefused, lost),
            (ErrorKind::ConnectionReset, lost),
            (ErrorKind::ConnectionAborted, lost),
            (ErrorKind::BrokenPipe, lost),
            (ErrorKind::UnexpectedEof, lost),
            (ErrorKind::AddrNotAvailable, lost),
            (
                ErrorKind::TimedOut,
                Some(Outcome::Overload(Cause::TimedOut)),
            ),
            (ErrorKind::HostUnreachable, None),
            (ErrorKind::NetworkUnreachable, None),
            (ErrorKind::InvalidData, None),
            (ErrorKind::NotFound, None),
            (ErrorKind::Other, None),
        ] {
            assert_eq!(of(&kind.into()), expected, "{kind:?}");
        }
    }

    #[test]
    fn too_many_open_files_of_ours_are_an_overload() {
        for &code in OUT_OF_FILES {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(of(&error), Some(Outcome::Overload(Cause::Connection)));
        }
    }

    #[test]
    fn only_a_refused_connection_proves_that_nothing_was_sent() {
        for (kind, expected) in [
            (ErrorKind::ConnectionRefused, true),
            (ErrorKind::ConnectionReset, false),
            (ErrorKind::BrokenPipe, false),
            (ErrorKind::TimedOut, false),
        ] {
            assert_eq!(was_never_sent(&io::Error::from(kind)), expected, "{kind:?}");
        }
    }
}
