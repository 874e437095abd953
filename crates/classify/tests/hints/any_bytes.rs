//! What holds for any bytes that a server may send; also what the fuzzer runs.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_classify::{Hints, Profile, retry_after};

pub(crate) const PROFILES: [Profile; 14] = [
    Profile::Ietf,
    Profile::GitHub,
    Profile::X,
    Profile::Reddit,
    Profile::OpenAi,
    Profile::AzureOpenAi,
    Profile::Anthropic,
    Profile::Shopify,
    Profile::Discord,
    Profile::Slack,
    Profile::Salesforce,
    Profile::Google,
    Profile::Stripe,
    Profile::Sniff,
];

const DAY: Duration = Duration::from_secs(86_400);

/// Lines of `Name: value`; what cannot be a header is left out.
fn headers(bytes: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let colon = line.windows(2).position(|pair| pair == b": ");
        let Some((name, value)) = colon.map(|colon| (&line[..colon], &line[colon + 2..])) else {
            continue;
        };
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            // Fails beyond 32,768 headers.
            let _ = headers.try_append(name, value);
        }
    }
    headers
}

/// Parses them as every profile, received at several times.
pub(crate) fn hold(bytes: &[u8]) {
    let headers = headers(bytes);
    let epoch = SystemTime::UNIX_EPOCH;
    let before = epoch - Duration::from_secs(1_000_000_000);
    let now = epoch + Duration::from_secs(1_700_000_000);
    let late = epoch + Duration::from_secs(1 << 40);
    for received_at in [before, now, late] {
        for profile in PROFILES {
            hold_for(&headers, received_at, profile);
        }
    }
}

fn hold_for(headers: &HeaderMap, received_at: SystemTime, profile: Profile) {
    let hints = Hints::parse(headers, received_at, profile);
    assert_eq!(hints, Hints::parse(headers, received_at, profile));

    // A wait is none of zero, and comes from somewhere.
    let wait = hints.wait();
    assert_ne!(wait, Some(Duration::ZERO));
    let mut spent = hints.quotas.iter().filter(|quota| quota.is_spent());
    let said = hints.retry_after == wait || spent.any(|quota| quota.reset == wait);
    assert!(wait.is_none() || said, "{hints:?}");

    // Whatever is asked for is waited for.
    let asked = hints.retry_after.filter(|asked| !asked.is_zero());
    assert!(asked.is_none() || asked == wait, "{hints:?}");
    let standard = retry_after(headers, || received_at);
    if profile == Profile::Ietf {
        assert_eq!(standard, asked);
    }
    assert!(standard.is_none() || wait.is_some(), "{hints:?}");

    // A quota says something, and a guess is within a day.
    for quota in &hints.quotas {
        assert!(quota.limit.is_some() || quota.remaining.is_some() || quota.reset.is_some());
    }
    let has_ietf = headers
        .keys()
        .any(|name| name.as_str().starts_with("ratelimit"));
    if profile == Profile::Sniff && !has_ietf {
        assert!(
            hints.quotas.iter().all(|quota| quota.reset <= Some(DAY)),
            "{hints:?}"
        );
    }
    if headers.get("age").is_some_and(|age| age == "1") {
        assert_eq!(hints.quotas, []);
    }
    if headers.is_empty() {
        assert_eq!(hints, Hints::default());
    }
}
