//! An HTTP/2 server by hand (RFC 9113 §4.1, §6): it reads requests, then writes the frames it is told.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{End, serve};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status` in the static table (RFC 7541 appendix A), as the name of a literal (§6.2.2).
const STATUS: u8 = 8;

pub(crate) const NO_ERROR: u32 = 0;
pub(crate) const INTERNAL_ERROR: u32 = 2;
pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const CANCEL: u32 = 8;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// Waits for so many requests on a connection, writes `frames`, and ends.
pub(crate) async fn answer(requests: usize, frames: Vec<u8>, end: End) -> SocketAddr {
    serve(move |mut stream| {
        let frames = frames.clone();
        async move {
            stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
            let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
            stream.read_exact(&mut vec![0; preface]).await.unwrap();
            let mut seen = 0;
            while seen < requests {
                let mut head = [0; 9];
                stream.read_exact(&mut head).await.unwrap();
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                stream.read_exact(&mut vec![0; length]).await.unwrap();
                seen += usize::from(head[3] == HEADERS);
            }
            stream.write_all(&frames).await.unwrap();
            end.of(stream).await;
        }
    })
    .await
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub(crate) fn go_away(last_stream: u32, code: u32) -> Vec<u8> {
    let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// A frame that no client may take: settings are six bytes each (RFC 9113 §6.5).
pub(crate) fn nonsense() -> Vec<u8> {
    frame(SETTINGS, 0, 0, b"four")
}

/// Pieces of a body without a byte, more of them than any client takes.
pub(crate) fn flood(stream: u32) -> Vec<u8> {
    frame(DATA, 0, stream, &[]).repeat(1_000)
}

/// A response without a body.
pub(crate) fn ok(stream: u32) -> Vec<u8> {
    headers(stream, Some(200), &[], true)
}

/// The head of a response, and a body that does not end.
pub(crate) fn begin(stream: u32) -> Vec<u8> {
    let head = headers(stream, Some(200), &[], false);
    [head, frame(DATA, 0, stream, b"four")].concat()
}

/// A head, or trailers where there is no status.
pub(crate) fn headers(
    stream: u32,
    status: Option<u16>,
    pairs: &[(&str, &str)],
    ends: bool,
) -> Vec<u8> {
    let mut block = Vec::new();
    if let Some(status) = status {
        block.push(STATUS);
        text(&mut block, &status.to_string());
    }
    for (name, value) in pairs {
        block.push(0);
        text(&mut block, name);
        text(&mut block, value);
    }
    let flags = END_HEADERS | if ends { END_STREAM } else { 0 };
    frame(HEADERS, flags, stream, &block)
}

/// Without Huffman's code, and shorter than 127 (RFC 7541 §5.2).
fn text(block: &mut Vec<u8>, text: &str) {
    block.push(text.len().try_into().unwrap());
    block.extend(text.as_bytes());
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let stream = stream.to_be_bytes();
    [&length[1..], &[kind, flags], &stream, payload].concat()
}
