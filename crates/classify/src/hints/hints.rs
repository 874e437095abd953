use std::time::{Duration, SystemTime};

use http::HeaderMap;

use super::fields::Fields;
use super::{Profile, Quota, retry_after, value};

/// What a response says about the limits of the service: how long to stay away, and its quotas.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use http::Response;
/// use tidegate_classify::{Hints, Profile};
///
/// let response = Response::builder()
///     .header("RateLimit-Policy", r#""burst";q=100;w=60,"daily";q=1000;w=86400"#)
///     .header("RateLimit", r#""burst";r=0;t=30,"daily";r=700;t=4000"#)
///     .body(())
///     .unwrap();
/// let hints = Hints::parse(response.headers(), SystemTime::UNIX_EPOCH, Profile::Ietf);
/// assert_eq!(hints.wait(), Some(Duration::from_secs(30)));
/// assert_eq!(hints.binding().unwrap().limit, Some(100));
/// ```
///
/// Hints only slow us down. Fractions are honoured and rounded up to a nanosecond. What is too large
/// saturates, up to [`Duration::MAX`]: it means longer than anybody waits, and must be added to an
/// instant with `checked_add`. What cannot be read is ignored, and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// How long to stay away, from the reception of the response: `Retry-After` or the service's own
    /// form of it. Zero if the service said zero or a moment that is past, which asks for nothing
    /// beyond our own back-off.
    pub retry_after: Option<Duration>,
    /// In no particular order.
    pub quotas: Vec<Quota>,
    /// Which part of the service they are about, where the response names it: the resource of GitHub,
    /// the bucket of Discord. The other parts are not affected.
    pub scope: Option<Box<str>>,
    /// How many fields of the profile were there but could not be read.
    pub ignored: usize,
}

impl Hints {
    /// Reads the headers of a response, or its trailers, as this service writes them.
    ///
    /// `received_at` counts only where the response has no `Date` of its own, so that a clock of ours
    /// that is wrong does not make us early. Which field wins over which is said at
    /// [`wait`](Self::wait).
    ///
    /// On a cached response (`Age` above zero) there are no quotas: they are those of an earlier
    /// moment. Its `Retry-After` counts in full, so at most too long.
    ///
    /// Allocates nothing if there are no hints.
    pub fn parse(headers: &HeaderMap, received_at: SystemTime, profile: Profile) -> Self {
        if !headers.keys().any(|name| is_hint(name.as_str())) {
            return Self::default();
        }
        Self::read(&Fields::new(headers, received_at), profile)
    }

    #[cold]
    fn read(fields: &Fields<'_>, profile: Profile) -> Self {
        let mut hints = Self {
            retry_after: retry_after::read(fields),
            ..Self::default()
        };
        profile.read(fields, &mut hints);
        let is_cached = || {
            fields
                .read("age", value::seconds)
                .is_some_and(|age| !age.is_zero())
        };
        if !hints.quotas.is_empty() && is_cached() {
            hints.quotas.clear();
        }
        hints.ignored = fields.ignored();
        hints
    }

    /// How long to stay away, from the reception of the response; `None` leaves it to our own
    /// back-off.
    ///
    /// 1. The wait that the service asks for: the profile's own form before `Retry-After`.
    /// 2. If it asks for none, or for zero: the reset of a spent quota, the longest of them. The
    ///    profile's own fields are read first, those of the IETF if there are none, and of these the
    ///    newest form that can be read.
    pub fn wait(&self) -> Option<Duration> {
        let asked = self.retry_after.filter(|wait| !wait.is_zero());
        let spent = || self.binding().filter(|quota| quota.is_spent());
        asked
            .or_else(|| spent()?.reset)
            .filter(|wait| !wait.is_zero())
    }

    /// The quota that holds us back first: of those that say when they are reset, the one with the
    /// smallest share left; of equals the one that is reset last.
    pub fn binding(&self) -> Option<&Quota> {
        let said = |quota: &&Quota| quota.remaining.is_some() && quota.reset.is_some();
        self.quotas.iter().filter(said).min_by(|a, b| {
            let shares = a.share().total_cmp(&b.share());
            shares.then(b.reset.cmp(&a.reset))
        })
    }
}

/// Whether a field (in lower case) may be one that any profile reads.
fn is_hint(name: &str) -> bool {
    match name.as_bytes() {
        [b'r', ..] => {
            name == "retry-after" || name == "retry-after-ms" || name.starts_with("ratelimit")
        }
        [b'x', b'-', ..] => ["rate", "ms-retry-after-ms", "shopify-shop-api-call-limit"]
            .iter()
            .any(|start| name[2..].starts_with(start)),
        [b'a', ..] => name.starts_with("anthropic-ratelimit-"),
        [b's', ..] => name == "sforce-limit-info",
        [b'g', ..] => name == "grpc-retry-pushback-ms",
        _ => false,
    }
}
