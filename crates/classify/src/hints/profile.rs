use std::time::Duration;

use http::StatusCode;

use super::fields::Fields;
use super::{
    Hints, Quota, Wait, anthropic, azure, discord, github, google, ietf, openai, reddit,
    salesforce, shopify, sniff, x,
};

/// Whose dialect a service speaks: the same field means different things to different services, so
/// it is a setting and not a guess.
///
/// Every profile reads `Retry-After` (RFC 9110: seconds, here with a fraction too, or a date), and
/// where its own fields are absent those of the IETF.
///
/// | profile | reads | unit | beware |
/// |---|---|---|---|
/// | `Ietf` | `RateLimit` and `RateLimit-Policy` as lists; `RateLimit` as one dictionary; `RateLimit-Limit`, `-Remaining`, `-Reset` | seconds from now | `RateLimit-Reset` is read as an epoch where that is within a day of now: GitLab sends one |
/// | `GitHub` | `x-ratelimit-limit`, `-remaining`, `-reset`, `-resource` | epoch in seconds | throttles with 403 too; the secondary limit says nothing, or only `Retry-After`; a quota per resource |
/// | `X` | `x-rate-limit-limit`, `-remaining`, `-reset` | epoch in seconds | the hyphen; windows of 15 minutes |
/// | `Reddit` | `x-ratelimit-used`, `-remaining`, `-reset` | seconds from now | GitHub's names; fractions |
/// | `OpenAi` | `x-ratelimit-limit-…`, `-remaining-…`, `-reset-…` with any suffix; `retry-after-ms` before `Retry-After` | durations as Go prints them, or seconds; milliseconds | the reset is when the quota is whole again: the longest that a wait can be |
/// | `AzureOpenAi` | the same; `x-ms-retry-after-ms` after `retry-after-ms` | seconds; milliseconds | −1 means unknown |
/// | `Anthropic` | `anthropic-ratelimit-…-limit`, `-remaining`, `-reset` with any name between | timestamps of RFC 3339 | the reset is when the quota is whole again |
/// | `Shopify` | `X-Shopify-Shop-Api-Call-Limit` | used/limit | no reset: the rate is by plan; `Retry-After` has a fraction |
/// | `Discord` | `X-RateLimit-Limit`, `-Remaining`, `-Reset-After`, `-Reset`, `-Bucket`, `-Global` | seconds from now before epoch, both with fractions | 10,000 answers of 401, 403 or 429 in ten minutes are a ban |
/// | `Slack` | – | | limits count per method and workspace: no field says which |
/// | `Salesforce` | `Sforce-Limit-Info` | used/limit in 24 hours | no reset; throttles with 403 |
/// | `Google` | `grpc-retry-pushback-ms` in headers or trailers | milliseconds | negative or unreadable: do not try again (gRFC A6), here [`Duration::MAX`]; the `RetryInfo` of a body is not read |
/// | `Stripe` | – | | 429 both for a rate and for requests at once |
/// | `Sniff` | the names of `GitHub`, `X` and `Discord` | seconds from now up to a day; an epoch in seconds or milliseconds within a day of now | a guess; what is neither is ignored |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// `Retry-After` and the three generations of the IETF's fields. The default.
    #[default]
    Ietf,
    /// GitHub.
    GitHub,
    /// X, once Twitter.
    X,
    /// Reddit.
    Reddit,
    /// OpenAI.
    OpenAi,
    /// OpenAI's models at Azure.
    AzureOpenAi,
    /// Anthropic.
    Anthropic,
    /// Shopify.
    Shopify,
    /// Discord.
    Discord,
    /// Slack.
    Slack,
    /// Salesforce.
    Salesforce,
    /// Google and other services over gRPC.
    Google,
    /// Stripe.
    Stripe,
    /// Not known: believes what can hardly mean anything else.
    Sniff,
}

impl Profile {
    /// GitHub asks for at least a minute after a secondary limit that says nothing (its
    /// documentation, "Rate limits for the REST API").
    const GITHUB_SECONDARY: Duration = Duration::from_secs(60);

    /// Whether a response was throttled, as far as its head tells: 429; at GitHub and Salesforce also
    /// a 403 that asks for a wait or whose quota is spent.
    ///
    /// A 403 of a secondary limit that says nothing looks like one for want of rights: only the body
    /// tells.
    pub fn throttles(self, status: StatusCode, hints: &Hints) -> bool {
        let refuses_with_403 = matches!(self, Self::GitHub | Self::Salesforce);
        let is_spent = || hints.quotas.iter().any(Quota::is_spent);
        status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::FORBIDDEN
                && refuses_with_403
                && (hints.wait().is_some() || is_spent())
    }

    /// How long to stay away after a response that was throttled: what it [said](Hints::wait), or what
    /// the service's documentation asks for where it said nothing (GitHub: 60 s). `None` leaves it to our
    /// own back-off.
    pub fn wait(self, hints: &Hints) -> Option<Wait> {
        let is_silent = hints.retry_after.is_none() && !hints.quotas.iter().any(Quota::is_spent);
        let invented = Wait::Invented(Self::GITHUB_SECONDARY);
        match hints.wait() {
            Some(wait) => Some(Wait::Said(wait)),
            None => (self == Self::GitHub && is_silent).then_some(invented),
        }
    }

    /// Whether its quotas are buckets that fill all the time, and a reset is when one is full: then there
    /// is something again much earlier.
    pub fn fills_evenly(self) -> bool {
        matches!(self, Self::OpenAi | Self::AzureOpenAi | Self::Anthropic)
    }

    pub(super) fn read(self, fields: &Fields<'_>, hints: &mut Hints) {
        match self {
            Self::GitHub => github::read(fields, hints),
            Self::X => x::read(fields, hints),
            Self::Reddit => reddit::read(fields, hints),
            Self::OpenAi => openai::read(fields, hints),
            Self::AzureOpenAi => azure::read(fields, hints),
            Self::Anthropic => anthropic::read(fields, hints),
            Self::Shopify => shopify::read(fields, hints),
            Self::Discord => discord::read(fields, hints),
            Self::Salesforce => salesforce::read(fields, hints),
            Self::Google => google::read(fields, hints),
            Self::Ietf | Self::Slack | Self::Stripe | Self::Sniff => {}
        }
        if hints.quotas.is_empty() {
            ietf::read(fields, hints);
        }
        if self == Self::Sniff && hints.quotas.is_empty() {
            sniff::read(fields, hints);
        }
    }
}
