//! As much of HTTP/2's frames as a connection has to know (RFC 9113 §4.1, §6.8).

use bytes::{BufMut, Bytes, BytesMut};
use h2::Reason;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD: usize = 9;
const HEADERS: u8 = 1;
const GO_AWAY: u8 = 7;

/// Follows what a client sends, to learn the number of each stream that it opens.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Bytes of the preface that were read.
    preface: usize,
    is_http_1: bool,
    head: [u8; HEAD],
    read: usize,
    /// Bytes left of a frame's payload.
    payload: usize,
    last: u32,
}

impl Frames {
    /// Tells `opened` the number of each stream whose first frame begins within `bytes`.
    pub(crate) fn read(&mut self, bytes: &[u8], mut opened: impl FnMut(u32)) {
        let mut bytes = self.after_preface(bytes);
        while !bytes.is_empty() && !self.is_http_1 {
            if self.payload > 0 {
                let skipped = self.payload.min(bytes.len());
                self.payload -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.read] = bytes[0];
            self.read += 1;
            bytes = &bytes[1..];
            if self.read == HEAD {
                self.read = 0;
                self.begin_frame(&mut opened);
            }
        }
    }

    fn after_preface<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let expected = &PREFACE[self.preface..];
        let (preface, rest) = bytes.split_at(expected.len().min(bytes.len()));
        self.preface += preface.len();
        self.is_http_1 |= !expected.starts_with(preface);
        rest
    }

    fn begin_frame(&mut self, opened: &mut impl FnMut(u32)) {
        let [a, b, c, kind, _, stream @ ..] = self.head;
        self.payload = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        // Trailers come in the same kind of frame.
        if kind == HEADERS && stream > self.last {
            self.last = stream;
            opened(stream);
        }
    }
}

/// A frame that says that the streams after `last` are not processed.
pub(crate) fn go_away(last: u32, reason: Reason) -> Bytes {
    const PAYLOAD: u8 = 8;
    let mut frame = BytesMut::new();
    frame.put_slice(&[0, 0, PAYLOAD, GO_AWAY, 0, 0, 0, 0, 0]);
    frame.put_u32(last);
    frame.put_u32(reason.into());
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u8, payload: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, payload, kind, 0, 0, 0, 0, stream];
        frame.resize(HEAD + usize::from(payload), 1);
        frame
    }

    fn opened(bytes: &[u8], piece: usize) -> Vec<u32> {
        let (mut frames, mut opened) = (Frames::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            frames.read(piece, |stream| opened.push(stream));
        }
        opened
    }

    #[test]
    fn streams_are_found_however_the_bytes_come() {
        let mut bytes = PREFACE.to_vec();
        for (kind, stream, payload) in [(4, 0, 12), (1, 1, 5), (0, 1, 200), (1, 1, 3), (1, 7, 0)] {
            bytes.extend(frame(kind, stream, payload));
        }
        for piece in 1..=bytes.len() {
            assert_eq!(opened(&bytes, piece), [1, 7]);
        }
    }

    #[test]
    fn http_1_has_no_streams() {
        let bytes = [b"PRI /", frame(1, 1, 0).as_slice()].concat();
        for piece in 1..=bytes.len() {
            assert!(opened(&bytes, piece).is_empty());
        }
    }

    #[test]
    fn a_go_away_is_a_frame_of_17_bytes() {
        let frame = go_away(5, Reason::ENHANCE_YOUR_CALM);
        assert_eq!(
            frame[..],
            [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 11]
        );
    }
}
