//! What a fault makes of a request and of its response. It decides, and sends nothing.

use std::io;

use bytes::Bytes;
use h2::Reason;
use http::{Method, Version};

use crate::link::{Ending, Then};
use crate::{Fault, Response};

/// The way that a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Http(Version),
    /// No bytes lie between the client and the upstream.
    Direct,
}

impl Way {
    pub(crate) fn has(self, fault: Fault) -> bool {
        match self {
            Self::Http(version) => fault.applies_to(version),
            Self::Direct => fault.applies_to(Version::HTTP_11) && fault != Fault::LongBody,
        }
    }
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The protocol is told nothing.
    Silence,
    Connection(Ending),
    Stream(Reason),
    /// The request's body.
    Unread(io::Error),
}

/// The body is longer by this.
const SURPLUS: &[u8] = b"surplus";

/// What the client gets from a fault that strikes before the request is executed.
pub(crate) fn instead(fault: Fault) -> Stop {
    let end = |then| {
        let bytes = Bytes::new();
        Stop::Connection(Ending { bytes, then })
    };
    match fault {
        Fault::ResetBeforeHead => end(Then::Reset),
        Fault::HalfCloseBeforeHead => end(Then::HalfClose),
        Fault::RefusedStream => Stop::Stream(Reason::REFUSED_STREAM),
        _ => Stop::Silence,
    }
}

/// Why a connection takes no requests after the one that this strikes, and whether it takes that one.
pub(crate) fn go_away(fault: Fault) -> Option<(Reason, bool)> {
    match fault {
        Fault::GoAway { processed } => Some((Reason::NO_ERROR, processed)),
        Fault::EnhanceYourCalm => Some((Reason::ENHANCE_YOUR_CALM, false)),
        _ => None,
    }
}

/// Whether it strikes at a response to that method.
pub(crate) fn strikes(fault: Fault, response: &Response, method: &Method) -> bool {
    match fault {
        Fault::ResetInHead | Fault::SlowHead(_) => true,
        _ => fault.executes() && response.has_body(method),
    }
}

/// What a fault leaves of the response.
///
/// # Errors
///
/// If that is nothing that a protocol would send.
pub(crate) fn damage(fault: Fault, response: Response, way: Way) -> Result<Response, Stop> {
    let is_http_2 = way == Way::Http(Version::HTTP_2);
    Ok(match fault {
        Fault::ResetInHead => {
            let (head, _) = response.to_http_1();
            return Err(Stop::Connection(Ending {
                bytes: head.slice(..head.len() / 2),
                then: Then::Reset,
            }));
        }
        Fault::ResetInBody => response.unfinished().cut(Then::Reset),
        Fault::HalfCloseInBody => response.unfinished().cut(Then::HalfClose),
        Fault::ShortBody => response.sized().unfinished().end_short(),
        Fault::LongBody if is_http_2 => response.sized_as_is().chunk(SURPLUS),
        Fault::LongBody => {
            let (head, body) = response.to_http_1();
            return Err(Stop::Connection(Ending {
                bytes: [&head, &body, SURPLUS].concat().into(),
                then: Then::HalfClose,
            }));
        }
        Fault::SlowHead(more) => response.later(more),
        Fault::SlowBody { chunk, every } => response.slowly(chunk.max(1), every),
        Fault::ResetStream => response.unfinished().abort(),
        _ => response,
    })
}
