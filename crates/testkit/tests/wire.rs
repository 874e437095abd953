//! Faults as bytes on a socket, where a client of HTTP would hide them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use tidegate_testkit::{Act, Fault, Response, Upstream};

fn upstream(script: impl Fn(u64) -> Option<Fault> + Send + Sync + 'static) -> Upstream {
    Upstream::unlimited()
        .respond(|_| Response::new(200).header("x-tide", "low").body("hello"))
        .script(move |_, nth| script(nth))
        .start_on_thread()
}

fn connect(upstream: &Upstream) -> TcpStream {
    let address = upstream.uri().strip_prefix("http://").unwrap();
    let stream = TcpStream::connect(address).unwrap();
    // So that a test that fails does not hang.
    let minute = Duration::from_secs(60);
    stream.set_read_timeout(Some(minute)).unwrap();
    stream.set_write_timeout(Some(minute)).unwrap();
    stream
}

fn until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: upstream.test\r\n\r\n";

/// All bytes that come in answer to a request, and how they end.
fn answer(upstream: &Upstream) -> (TcpStream, String, Result<(), ErrorKind>) {
    let mut stream = connect(upstream);
    stream.write_all(GET).unwrap();
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    let end = end.map(drop).map_err(|error| error.kind());
    (stream, String::from_utf8(bytes).unwrap(), end)
}

const RESET: Result<(), ErrorKind> = Err(ErrorKind::ConnectionReset);

#[test]
fn a_reset_before_the_head_is_a_reset_without_a_byte() {
    let upstream = upstream(|_| Some(Fault::ResetBeforeHead));
    let (_, bytes, end) = answer(&upstream);
    assert_eq!((bytes.as_str(), end), ("", RESET));
}

#[test]
fn a_reset_in_the_head_comes_after_half_of_it() {
    let upstream = upstream(|_| Some(Fault::ResetInHead));
    let (_, bytes, end) = answer(&upstream);
    let head = "HTTP/1.1 200 OK\r\nx-tide: low\r\ncontent-length: 5\r\n\r\n";
    assert_eq!((bytes.as_str(), end), (&head[..head.len() / 2], RESET));
}

#[test]
fn a_reset_in_the_body_comes_after_all_but_the_last_byte() {
    let upstream = upstream(|_| Some(Fault::ResetInBody));
    let (_, bytes, end) = answer(&upstream);
    assert!(bytes.contains("content-length: 6\r\n"), "{bytes}");
    assert!(bytes.ends_with("\r\n\r\nhello"), "{bytes}");
    assert_eq!(end, RESET);
}

#[test]
fn bytes_beyond_the_announced_length_are_sent() {
    let upstream = upstream(|_| Some(Fault::LongBody));
    let (_, bytes, end) = answer(&upstream);
    assert!(bytes.contains("content-length: 5\r\n"), "{bytes}");
    assert!(bytes.ends_with("\r\n\r\nhellosurplus"), "{bytes}");
    assert_eq!(end, Ok(()));
}

#[test]
fn after_a_half_close_the_upstream_reads_on() {
    for fault in [Fault::HalfCloseBeforeHead, Fault::HalfCloseInBody] {
        let upstream = upstream(move |_| Some(fault));
        let (mut stream, _, end) = answer(&upstream);
        assert_eq!(end, Ok(()));
        // More than the buffers between them hold.
        stream.write_all(&vec![b'x'; 32 << 20]).unwrap();
        assert_eq!(upstream.report().arrivals, 1);
    }
}

#[test]
fn silence_does_not_keep_an_upstream_from_its_end() {
    let upstream = upstream(|_| Some(Fault::Silence));
    let mut stream = connect(&upstream);
    stream.write_all(GET).unwrap();
    until(|| upstream.report().unanswered == 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(upstream.shutdown());
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert!(bytes.is_empty());
}

/// A frame's type, its stream, and its payload.
type Frame = (u8, u32, Vec<u8>);

const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const GO_AWAY: u8 = 7;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    frame.extend(payload);
    frame
}

/// `GET http://a/` by the static table of HPACK (RFC 7541, appendix A), and the end of the stream.
fn get(stream: u8) -> Vec<u8> {
    frame(1, 0b101, stream, &[0x82, 0x86, 0x84, 0x41, 1, b'a'])
}

fn connect_http_2(upstream: &Upstream) -> TcpStream {
    let mut stream = connect(upstream);
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).unwrap();
    stream
}

fn next(stream: &mut TcpStream) -> Option<Frame> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let [a, b, c, kind, _, id @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((kind, u32::from_be_bytes(id), payload))
}

/// The next frame that is a part of an answer rather than of the connection's housekeeping.
fn next_of(stream: &mut TcpStream, kinds: &[u8]) -> Frame {
    std::iter::from_fn(|| next(stream))
        .find(|(kind, ..)| kinds.contains(kind))
        .unwrap()
}

fn go_away(last: u8, reason: u8) -> Frame {
    (GO_AWAY, 0, vec![0, 0, 0, last, 0, 0, 0, reason])
}

#[test]
fn a_go_away_names_the_last_stream_that_is_processed() {
    for (processed, last) in [(true, 5), (false, 3)] {
        let upstream = upstream(move |nth| (nth == 2).then_some(Fault::GoAway { processed }));
        let mut stream = connect_http_2(&upstream);
        let kinds = [DATA, GO_AWAY];
        for id in [1, 3] {
            stream.write_all(&get(id)).unwrap();
            let (kind, of, payload) = next_of(&mut stream, &kinds);
            assert_eq!((kind, of, &payload[..]), (DATA, id.into(), &b"hello"[..]));
        }
        // What comes together with it and after it is ignored.
        stream
            .write_all(&[get(5), get(7), get(9)].concat())
            .unwrap();
        let mut frames = vec![next_of(&mut stream, &kinds)];
        if processed {
            frames.push(next_of(&mut stream, &kinds));
            frames.sort_unstable();
            assert_eq!(frames.remove(0), (DATA, 5, b"hello".to_vec()));
        }
        assert_eq!(frames, [go_away(last, 0)]);
        until(|| upstream.report().arrivals == 5);
        let report = upstream.report();
        let executed = if processed { 3 } else { 2 };
        assert_eq!(
            (report.executed, report.unanswered),
            (executed, 5 - executed)
        );
        let struck = report.by_fault.into_iter().collect::<Vec<_>>();
        assert_eq!(struck, [(Fault::GoAway { processed }.name(), 1)]);
    }
}

#[test]
fn a_go_away_never_stands_within_a_frame() {
    const BODY: usize = 32 << 20;
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).body(vec![0xff; BODY]))
        .script(|_, nth| (nth == 1).then_some(Fault::GoAway { processed: false }))
        .start_on_thread();
    let mut stream = connect_http_2(&upstream);
    // Windows as large as they get (RFC 9113 §6.5.2, §6.9), so that the socket is what holds it up.
    let window = 0x7fff_0000_u32.to_be_bytes();
    let initial_window = [&[0, 4], &window[..]].concat();
    stream.write_all(&frame(4, 0, 0, &initial_window)).unwrap();
    stream.write_all(&frame(8, 0, 0, &window)).unwrap();
    stream.write_all(&get(1)).unwrap();
    until(|| upstream.report().by_status.contains_key(&200));
    stream.write_all(&get(3)).unwrap();
    until(|| upstream.report().arrivals == 2);
    let (mut read, mut told) = (0, None);
    while read < BODY || told.is_none() {
        match next_of(&mut stream, &[DATA, RST_STREAM, GO_AWAY]) {
            (DATA, 1, payload) => read += payload.len(),
            frame => assert_eq!(told.replace(frame), None),
        }
    }
    assert_eq!((read, told), (BODY, Some(go_away(1, 0))));
}

#[test]
fn enhance_your_calm_ends_the_connection() {
    let upstream = upstream(|nth| (nth == 1).then_some(Fault::EnhanceYourCalm));
    let mut stream = connect_http_2(&upstream);
    stream.write_all(&get(1)).unwrap();
    next_of(&mut stream, &[DATA]);
    stream.write_all(&get(3)).unwrap();
    let told = next_of(&mut stream, &[GO_AWAY]);
    assert_eq!(told, go_away(1, 11));
    assert_eq!(next(&mut stream), None);
    assert_eq!(upstream.report().executed, 1);
}

#[test]
fn a_refused_stream_leaves_the_others_alone() {
    let upstream = upstream(|nth| (nth == 0).then_some(Fault::RefusedStream));
    let mut stream = connect_http_2(&upstream);
    stream.write_all(&[get(1), get(3)].concat()).unwrap();
    let mut frames = [0; 2].map(|_| next_of(&mut stream, &[DATA, RST_STREAM, GO_AWAY]));
    frames.sort_unstable();
    assert_eq!(
        frames,
        [
            (DATA, 3, b"hello".to_vec()),
            (RST_STREAM, 1, vec![0, 0, 0, 7])
        ]
    );
}

#[test]
fn a_reset_takes_the_other_streams_with_it() {
    let upstream = Upstream::unlimited()
        .script(|_, nth| match nth {
            0 => Act::from(Response::new(200).chunk("first").pause(Duration::MAX)),
            _ => Fault::ResetBeforeHead.into(),
        })
        .start_on_thread();
    let mut stream = connect_http_2(&upstream);
    stream.write_all(&get(1)).unwrap();
    next_of(&mut stream, &[DATA]);
    stream.write_all(&get(3)).unwrap();
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    until(|| upstream.in_flight() == 0);
    let report = upstream.report();
    assert_eq!(
        (report.executed, report.cancelled, report.unanswered),
        (1, 1, 1)
    );
}

#[test]
fn a_request_arrives_after_what_was_given_up_before_it() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).chunk("tide").pause(Duration::MAX))
        .start_on_thread();
    let mut stream = connect_http_2(&upstream);
    for id in [1, 3, 5, 7] {
        let give_up = match id {
            1 => vec![],
            _ => frame(RST_STREAM, 0, id - 2, &[0, 0, 0, 8]),
        };
        stream.write_all(&[give_up, get(id)].concat()).unwrap();
        next_of(&mut stream, &[DATA]);
    }
    assert_eq!(upstream.peak_in_flight(), 1);
}
