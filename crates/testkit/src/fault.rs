use std::fmt;
use std::time::Duration;

use http::Version;

/// What goes wrong with one request.
///
/// A fault of the connection takes the other streams of an HTTP/2 connection with it. One that does
/// not [apply](Self::applies_to) leaves the request alone; so does one that strikes at the response
/// when the request was refused before, or when the response may have no body (`HEAD`, 204, 304)
/// and the fault is of the body.
///
#[doc = include_str!("faults.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// It is never answered, and its connection stays open. A shutdown ends it.
    Silence,
    /// The connection is reset (a TCP RST) instead of an answer.
    ResetBeforeHead,
    /// The connection is reset when half of the head's bytes are sent.
    ResetInHead,
    /// The connection is reset where the body should end. It has no announced length, unless it is
    /// [sized](crate::Response::sized): then that is one byte more than is sent.
    ResetInBody,
    /// The upstream's half of the connection is closed (a TCP FIN) instead of an answer. It goes on
    /// reading until the client closes too.
    HalfCloseBeforeHead,
    /// The same where the body should end, as in [`ResetInBody`](Self::ResetInBody).
    HalfCloseInBody,
    /// The body ends one byte short of its `content-length`.
    ShortBody,
    /// The body is longer than its `content-length` by a few bytes. HTTP/1 closes the connection
    /// after them; pauses in the body are left out.
    LongBody,
    /// The head comes so much later; the worker is busy meanwhile.
    SlowHead(Duration),
    /// The body comes in chunks of so many bytes (0 is taken as 1), with a pause before each.
    SlowBody {
        /// Bytes in a chunk.
        chunk: usize,
        /// The pause before each.
        every: Duration,
    },
    /// `RST_STREAM` with `INTERNAL_ERROR` where the body should end.
    ResetStream,
    /// `RST_STREAM` with `REFUSED_STREAM` instead of an answer.
    RefusedStream,
    /// `GOAWAY` with `NO_ERROR`. Later requests on the connection are ignored, and not executed.
    GoAway {
        /// Whether the request is the last one that is processed, or the first one that is not.
        processed: bool,
    },
    /// `GOAWAY` with `ENHANCE_YOUR_CALM`, the request not processed; then the connection is closed.
    EnhanceYourCalm,
}

impl Fault {
    /// One example of each.
    pub const EXAMPLES: [Self; 15] = [
        Self::Silence,
        Self::ResetBeforeHead,
        Self::ResetInHead,
        Self::ResetInBody,
        Self::HalfCloseBeforeHead,
        Self::HalfCloseInBody,
        Self::ShortBody,
        Self::LongBody,
        Self::SlowHead(Duration::from_millis(30)),
        Self::SlowBody {
            chunk: 2,
            every: Duration::from_millis(10),
        },
        Self::ResetStream,
        Self::RefusedStream,
        Self::GoAway { processed: true },
        Self::GoAway { processed: false },
        Self::EnhanceYourCalm,
    ];

    /// A few words, without the durations.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::ResetBeforeHead => "reset before the head",
            Self::ResetInHead => "reset in the head",
            Self::ResetInBody => "reset in the body",
            Self::HalfCloseBeforeHead => "half-close before the head",
            Self::HalfCloseInBody => "half-close in the body",
            Self::ShortBody => "short body",
            Self::LongBody => "long body",
            Self::SlowHead(_) => "slow head",
            Self::SlowBody { .. } => "slow body",
            Self::ResetStream => "reset stream",
            Self::RefusedStream => "refused stream",
            Self::GoAway { processed: true } => "go away, processed",
            Self::GoAway { processed: false } => "go away, not processed",
            Self::EnhanceYourCalm => "enhance your calm",
        }
    }

    /// Whether it can happen in that version of HTTP.
    pub fn applies_to(&self, version: Version) -> bool {
        match self {
            Self::ResetInHead => version != Version::HTTP_2,
            Self::ResetStream
            | Self::RefusedStream
            | Self::GoAway { .. }
            | Self::EnhanceYourCalm => version == Version::HTTP_2,
            _ => true,
        }
    }

    /// Whether the request is executed although it is struck: see
    /// [`Report::executed`](crate::Report::executed).
    pub fn executes(&self) -> bool {
        !matches!(
            self,
            Self::Silence
                | Self::ResetBeforeHead
                | Self::HalfCloseBeforeHead
                | Self::RefusedStream
                | Self::GoAway { processed: false }
                | Self::EnhanceYourCalm
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
