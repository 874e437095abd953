use std::error::Error;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tidegate_core::{Cause, Outcome, Refused};

use crate::route::Matcher;
use crate::rule::Rule;
use crate::{Classify, RequestHead, ResponseHead, Route, Statuses, Verdict, When, errors, table};

/// Classifies HTTP responses by their status, and errors by what caused them.
///
/// | status | outcome |
/// |---|---|
/// | 1xx, 2xx, 3xx | `Success` |
/// | 429 | `Overload(Throttled)` |
/// | 502, 503, 529 | `Overload(Unavailable)` |
/// | 408, 504 | `Overload(TimedOut)` |
/// | other 4xx | `Ignored`: the caller's mistake |
/// | other 5xx, and above | `Failure` |
///
/// Where what is `Ignored` is all there is, a law learns nothing, and its limit stays where it
/// starts. For a link checker a 404 is an answer like any other:
///
/// ```
/// # use tidegate_classify::HttpClassifier;
/// # use tidegate_core::Outcome;
/// let classifier = HttpClassifier::default().status(404, Outcome::Success);
/// ```
///
/// Errors have the outcomes of [`errors`]. `retry_after` is that of the headers, on every response
/// that is no success.
///
/// APIs differ, so each part can be overruled. The rule added last is asked first; a
/// [route](Self::on)'s rules come before the others.
///
/// ```
/// use http::Method;
/// use tidegate_classify::HttpClassifier;
/// use tidegate_core::{Cause, Outcome};
///
/// let classifier = HttpClassifier::default()
///     .throttled([403, 420, 509])
///     .status([522, 524], Outcome::Overload(Cause::TimedOut))
///     .header("x-overloaded", Outcome::Overload(Cause::Unavailable))
///     .on((Method::POST, "/export"), |export| export.at_capacity(429));
/// ```
#[derive(Clone, Debug, Default)]
pub struct HttpClassifier {
    rules: Vec<Scoped>,
    routes: Vec<Matcher>,
    /// Of which route the rules are that are being added.
    adding_to: Option<u16>,
}

#[derive(Clone, Debug)]
struct Scoped {
    route: Option<u16>,
    rule: Rule,
}

impl HttpClassifier {
    /// These statuses mean `outcome`.
    ///
    /// # Panics
    ///
    /// If a status is outside of `100..=999`, or a range is empty.
    #[must_use]
    #[track_caller]
    pub fn status(mut self, statuses: impl Statuses, outcome: Outcome) -> Self {
        for range in statuses.ranges() {
            assert!(
                !range.is_empty() && *range.start() >= 100 && *range.end() <= 999,
                "a status is a number from 100 to 999, and a range holds at least one, not {range:?}"
            );
            self = self.rule(Rule::Status(range, outcome));
        }
        self
    }

    /// These statuses mean that we send too many per second: `Overload(Throttled)`.
    ///
    /// # Panics
    ///
    /// If a status is outside of `100..=999`, or a range is empty.
    #[must_use]
    #[track_caller]
    pub fn throttled(self, statuses: impl Statuses) -> Self {
        self.status(statuses, Outcome::Overload(Cause::Throttled))
    }

    /// These statuses mean that too many of our requests are in flight: `Overload(Unavailable)`.
    ///
    /// `at_capacity(429)` is for an API whose 429 counts requests at one time and not per second, so
    /// that a law looks for a limit and not for a rate.
    ///
    /// # Panics
    ///
    /// If a status is outside of `100..=999`, or a range is empty.
    #[must_use]
    #[track_caller]
    pub fn at_capacity(self, statuses: impl Statuses) -> Self {
        self.status(statuses, Outcome::Overload(Cause::Unavailable))
    }

    /// A response with this header means `outcome`, whatever its status.
    ///
    /// # Panics
    ///
    /// If `name` is no header name.
    #[must_use]
    #[track_caller]
    pub fn header(self, name: &str, outcome: Outcome) -> Self {
        self.rule(Rule::Header(header_name(name), outcome))
    }

    /// A response whose header has this value means `outcome`, whatever its status. Bytes are
    /// compared, and one of several values is enough.
    ///
    /// # Panics
    ///
    /// If `name` is no header name, or `value` no header value.
    #[must_use]
    #[track_caller]
    pub fn header_is(self, name: &str, value: &str, outcome: Outcome) -> Self {
        let Ok(value) = HeaderValue::from_str(value) else {
            panic!("{value:?} is no header value");
        };
        self.rule(Rule::HeaderIs(header_name(name), value, outcome))
    }

    /// Asks a closure; `None` leaves the answer to the other rules.
    ///
    /// ```
    /// use tidegate_classify::HttpClassifier;
    /// use tidegate_core::{Cause, Outcome};
    ///
    /// let classifier = HttpClassifier::default().with(|status, headers| {
    ///     let forbidden = status == 403 && headers.contains_key("retry-after");
    ///     forbidden.then_some(Outcome::Overload(Cause::Throttled))
    /// });
    /// ```
    #[must_use]
    pub fn with<F, V>(self, closure: F) -> Self
    where
        F: Fn(StatusCode, &HeaderMap) -> Option<V> + Send + Sync + 'static,
        V: Into<Verdict>,
    {
        self.rule(Rule::Head(Arc::new(move |status, headers| {
            closure(status, headers).map(Into::into)
        })))
    }

    /// Asks a closure about the first bytes of a body, where a layer below has [peeked](crate::Peeked)
    /// at them; `None` leaves the answer to the other rules.
    ///
    /// ```
    /// use tidegate_classify::HttpClassifier;
    /// use tidegate_core::{Cause, Outcome};
    ///
    /// let classifier = HttpClassifier::default().body(|status, body| {
    ///     let throttled = status == 200 && body.starts_with(br#"{"error":"throttled"#);
    ///     throttled.then_some(Outcome::Overload(Cause::Throttled))
    /// });
    /// ```
    #[must_use]
    pub fn body<F, V>(self, closure: F) -> Self
    where
        F: Fn(StatusCode, &[u8]) -> Option<V> + Send + Sync + 'static,
        V: Into<Verdict>,
    {
        self.rule(Rule::Body(Arc::new(move |status, body| {
            closure(status, body).map(Into::into)
        })))
    }

    /// Asks a closure about an error; `None` leaves the answer to the other rules. It is not asked
    /// about a refusal of ours, which is `Ignored`.
    ///
    /// ```
    /// use std::io;
    /// use tidegate_classify::HttpClassifier;
    /// use tidegate_core::{Outcome, chain};
    ///
    /// let classifier = HttpClassifier::default()
    ///     .error(|error| chain(error).any(|e| e.is::<io::Error>()).then_some(Outcome::Failure));
    /// ```
    #[must_use]
    pub fn error<F, V>(self, closure: F) -> Self
    where
        F: Fn(&(dyn Error + 'static)) -> Option<V> + Send + Sync + 'static,
        V: Into<Verdict>,
    {
        self.rule(Rule::Error(Arc::new(move |error| {
            closure(error).map(Into::into)
        })))
    }

    /// Rules for the requests of one route: a method, a path with all below it, or both.
    ///
    /// A request belongs to one route at most, the one added last that it matches. Where that one's
    /// rules say nothing the general ones hold.
    ///
    /// # Panics
    ///
    /// If a path does not start with `/`, or routes are nested.
    #[must_use]
    #[track_caller]
    pub fn on(mut self, route: impl Route, rules: impl FnOnce(Self) -> Self) -> Self {
        assert!(self.adding_to.is_none(), "a route has no routes of its own");
        let Ok(number) = u16::try_from(self.routes.len()) else {
            panic!("more than {} routes", u16::MAX);
        };
        self.routes.push(route.matcher());
        self.adding_to = Some(number);
        Self {
            adding_to: None,
            ..rules(self)
        }
    }

    fn rule(mut self, rule: Rule) -> Self {
        let route = self.adding_to;
        self.rules.push(Scoped { route, rule });
        self
    }

    /// What the rules say, those of the route before the general ones.
    fn ask(
        &self,
        route: Option<u16>,
        answer: impl Fn(&Rule) -> Option<Verdict>,
    ) -> Option<Verdict> {
        let among = |asked| {
            let mut rules = self.rules.iter().rev();
            rules.find_map(|scoped| (scoped.route == asked).then(|| answer(&scoped.rule))?)
        };
        match route {
            Some(_) => among(route).or_else(|| among(None)),
            None => among(None),
        }
    }
}

#[track_caller]
fn header_name(name: &str) -> HeaderName {
    let Ok(valid) = HeaderName::try_from(name) else {
        panic!("{name:?} is no header name");
    };
    valid
}

impl<Req: RequestHead, Res: ResponseHead> Classify<Req, Res> for HttpClassifier {
    /// Which route the request belongs to.
    type Call = Option<u16>;

    fn request(&self, request: &Req) -> Option<u16> {
        let mut routes = self.routes.iter();
        let found = routes.rposition(|route| route.matches(request.method(), request.path()))?;
        u16::try_from(found).ok()
    }

    fn response(&self, call: &mut Option<u16>, response: &Res) -> When {
        let verdict = self
            .ask(*call, |rule| rule.response(response))
            .unwrap_or_else(|| table::outcome(response.status()).into());
        verdict.hinted_by(response.headers()).into()
    }

    fn error(&self, call: &mut Option<u16>, error: &(dyn Error + 'static)) -> Verdict {
        if Refused::find(error).is_some() {
            return Outcome::Ignored.into();
        }
        self.ask(*call, |rule| rule.error(error))
            .unwrap_or_else(|| errors::outcome(error).into())
    }
}
