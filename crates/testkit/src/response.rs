use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION, TRAILER};
use http::{HeaderMap, Method, StatusCode};

use crate::body::Body;
use crate::link::Then;
use crate::visit::Visit;

/// The script of one response: its head, and its body step by step.
///
/// A body in several chunks has no `content-length` unless it is [`sized`](Self::sized). Steps run
/// in the order they are added; trailers come last.
///
/// ```
/// use std::time::Duration;
/// use tidegate_testkit::Response;
///
/// let whole = Response::new(200).header("x-tide", "low").body("hello");
/// let stream = Response::new(200).chunks(5, "hello\n", Duration::from_secs(1));
/// let cut_off = Response::new(200).chunk("hel").abort().chunk("lo").sized();
/// ```
#[derive(Clone, Debug)]
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    after: Duration,
    steps: VecDeque<Step>,
    sized: bool,
    /// Bytes that are announced and not sent.
    unsent: u64,
    trailers: HeaderMap,
    used: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Chunk(Bytes),
    Pause(Duration),
    Abort,
    /// The body ends, although more was announced.
    EndShort,
    /// The connection ends.
    Cut(Then),
}

impl Response {
    /// Of that status, with an empty body.
    ///
    /// # Panics
    ///
    /// If `status` is not within `100..=999`.
    #[track_caller]
    pub fn new(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).expect("a status is within 100..=999"),
            headers: HeaderMap::new(),
            after: Duration::ZERO,
            steps: VecDeque::new(),
            sized: false,
            unsent: 0,
            trailers: HeaderMap::new(),
            used: None,
        }
    }

    /// To another place: 301, 302, 303, 307 or 308 with a `location`.
    ///
    /// # Panics
    ///
    /// If `status` is not within `100..=999`, or `location` may not stand in a header.
    #[track_caller]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status).header(LOCATION.as_str(), location)
    }

    /// Adds a header. A `content-length` is sent as it is, whatever the body's.
    ///
    /// # Panics
    ///
    /// If `name` or `value` may not stand in a header.
    #[must_use]
    #[track_caller]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        append(&mut self.headers, name, value);
        self
    }

    /// Sends the head this much later than the service time ends; the worker is busy meanwhile.
    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// The whole body at once, with its `content-length`.
    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        self.chunk(body).sized()
    }

    /// Adds a chunk.
    #[must_use]
    pub fn chunk(self, chunk: impl Into<Bytes>) -> Self {
        self.step(Step::Chunk(chunk.into()))
    }

    /// Adds `count` chunks with a pause before each but the first.
    #[must_use]
    pub fn chunks(mut self, count: usize, chunk: impl Into<Bytes>, pause: Duration) -> Self {
        let chunk = chunk.into();
        for nth in 0..count {
            if nth > 0 {
                self = self.pause(pause);
            }
            self = self.chunk(chunk.clone());
        }
        self
    }

    /// Adds a pause. As the last step it holds back the end of the body.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        self.step(Step::Pause(pause))
    }

    /// Cuts the body off here: HTTP/1 closes the connection, HTTP/2 resets the stream.
    ///
    /// What came before has been handed to the connection; whether it still reaches the client is
    /// certain only after a pause.
    #[must_use]
    pub fn abort(self) -> Self {
        self.step(Step::Abort)
    }

    /// Announces the length of all chunks as `content-length`, those after an
    /// [`abort`](Self::abort) too. HTTP/1 then sends no trailers.
    #[must_use]
    pub fn sized(self) -> Self {
        Self {
            sized: true,
            ..self
        }
    }

    /// Adds a trailer. HTTP/1 sends trailers only to a request with `te: trailers`.
    ///
    /// # Panics
    ///
    /// If `name` or `value` may not stand in a header.
    #[must_use]
    #[track_caller]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        append(&mut self.trailers, name, value);
        append(&mut self.headers, TRAILER.as_str(), name);
        self
    }

    /// What its request turns out to have cost of the [tokens](crate::UpstreamBuilder::tokens), known
    /// when it has ended. Default: what was charged.
    #[must_use]
    pub fn used(self, tokens: u32) -> Self {
        Self {
            used: Some(tokens),
            ..self
        }
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }

    pub(crate) fn delay(&self) -> Duration {
        self.after
    }

    pub(crate) fn tokens(&self) -> Option<u32> {
        self.used
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn later(self, more: Duration) -> Self {
        Self {
            after: self.after.saturating_add(more),
            ..self
        }
    }

    /// Announces one byte more than it has, if it announces a length.
    pub(crate) fn unfinished(self) -> Self {
        Self { unsent: 1, ..self }
    }

    pub(crate) fn end_short(self) -> Self {
        self.step(Step::EndShort)
    }

    pub(crate) fn cut(self, then: Then) -> Self {
        self.step(Step::Cut(then))
    }

    /// Announces the length that it has now, whatever is added to it.
    pub(crate) fn sized_as_is(mut self) -> Self {
        let length = self.length();
        self.headers.insert(CONTENT_LENGTH, length.into());
        self.sized = false;
        self
    }

    pub(crate) fn slowly(mut self, length: usize, every: Duration) -> Self {
        for step in std::mem::take(&mut self.steps) {
            let Step::Chunk(chunk) = step else {
                self = self.step(step);
                continue;
            };
            for piece in chunk.chunks(length) {
                self = self.pause(every).chunk(chunk.slice_ref(piece));
            }
        }
        self
    }

    /// As HTTP/1 sends it, the body at once and with its length: its head, and its body.
    pub(crate) fn to_http_1(&self) -> (Bytes, Bytes) {
        let reason = self.status.canonical_reason().unwrap_or_default();
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status.as_str()).into_bytes();
        let length = HeaderValue::from(self.length());
        let headers = self
            .headers
            .iter()
            .filter(|(name, _)| *name != CONTENT_LENGTH);
        for (name, value) in headers.chain([(&CONTENT_LENGTH, &length)]) {
            head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        head.extend(b"\r\n");
        let body: Vec<_> = self.chunks_of_body().flatten().copied().collect();
        (head.into(), body.into())
    }

    pub(crate) fn has_body(&self, method: &Method) -> bool {
        method != Method::HEAD && !self.is_bodyless()
    }

    fn is_bodyless(&self) -> bool {
        [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&self.status)
    }

    /// As an answer to a request of that method. Without a `visit` nobody is told how it ended.
    pub(crate) fn into_http(
        mut self,
        method: &Method,
        visit: Option<Visit>,
    ) -> http::Response<Body> {
        let length = self.sized.then(|| self.length() + self.unsent);
        if !self.has_body(method) {
            if let Some(length) = length.filter(|_| !self.is_bodyless()) {
                self.headers.entry(CONTENT_LENGTH).or_insert(length.into());
            }
            self.steps.clear();
            self.trailers.clear();
        }
        let length = (!self.steps.is_empty()).then_some(length).flatten();
        let trailers = (!self.trailers.is_empty()).then_some(self.trailers);
        let mut response = http::Response::new(Body::new(self.steps, length, trailers, visit));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    fn length(&self) -> u64 {
        self.chunks_of_body().map(|chunk| chunk.len() as u64).sum()
    }

    fn chunks_of_body(&self) -> impl Iterator<Item = &Bytes> {
        self.steps.iter().filter_map(|step| match step {
            Step::Chunk(chunk) => Some(chunk),
            _ => None,
        })
    }
}

#[track_caller]
fn append(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::try_from(name).expect("a header's name");
    let value = HeaderValue::try_from(value).expect("a header's value");
    headers.append(name, value);
}
