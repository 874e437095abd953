//! What a handler answers with that passes our errors on.

use axum_core::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::RETRY_AFTER};

use crate::{Error, Refused};

/// 503, and `Retry-After` in whole seconds, rounded up, where it is known when to try again.
///
/// Neither the layer nor the key goes to the client: both are ours.
impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = (
            StatusCode::SERVICE_UNAVAILABLE,
            "too busy to ask another service, try again later\n",
        )
            .into_response();
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A refusal as [`Refused`] does; 502 where the service below failed, without saying how.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self.refused() {
            Some(refused) => refused.clone().into_response(),
            None => (StatusCode::BAD_GATEWAY, "another service failed\n").into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::RefusedReason;

    #[test]
    fn a_refusal_is_503_with_the_seconds_rounded_up() {
        let wait = Duration::from_millis(1_200);
        let refused = Refused::new("gate", RefusedReason::NoRoom).retry_after(Some(wait));
        let response = Error::from(refused).into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
    }

    #[test]
    fn a_wait_that_nobody_knows_is_not_named() {
        let response = Refused::new("gate", RefusedReason::Closed).into_response();
        assert_eq!(response.status(), 503);
        assert!(!response.headers().contains_key(RETRY_AFTER));
    }

    #[test]
    fn a_failure_below_is_502() {
        let response = Error::service(std::io::Error::other("secret")).into_response();
        assert_eq!(response.status(), 502);
    }
}
