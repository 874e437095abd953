use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, TRAILER};
use http::{HeaderMap, Method, StatusCode};

use crate::body::Body;
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
    trailers: HeaderMap,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Chunk(Bytes),
    Pause(Duration),
    Abort,
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
            trailers: HeaderMap::new(),
        }
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

    fn step(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }

    pub(crate) fn delay(&self) -> Duration {
        self.after
    }

    /// As an answer to a request of that method. Without a `visit` nobody is told how it ended.
    pub(crate) fn into_http(
        mut self,
        method: &Method,
        visit: Option<Visit>,
    ) -> http::Response<Body> {
        let length = self.sized.then(|| self.length());
        let bodyless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&self.status);
        if method == Method::HEAD || bodyless {
            if let Some(length) = length.filter(|_| !bodyless) {
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
        let lengths = self.steps.iter().map(|step| match step {
            Step::Chunk(chunk) => chunk.len() as u64,
            Step::Pause(_) | Step::Abort => 0,
        });
        lengths.sum()
    }
}

#[track_caller]
fn append(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::try_from(name).expect("a header's name");
    let value = HeaderValue::try_from(value).expect("a header's value");
    headers.append(name, value);
}
