use http::Method;

/// The methods that OpenTelemetry's conventions know (RFC 9110, RFC 5789), the commonest first, and last
/// their word for all others, since a method may be any text.
pub const METHODS: [&str; 10] = [
    "GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "CONNECT", "TRACE", "_OTHER",
];

/// Which of [`METHODS`] it is.
#[inline]
pub fn method_index(method: &Method) -> usize {
    let known = METHODS.iter().position(|known| *known == method.as_str());
    known.unwrap_or(METHODS.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_is_not_known_has_the_name_of_all_others() {
        let name = |method: &Method| METHODS[method_index(method)];
        assert_eq!(name(&Method::PATCH), "PATCH");
        assert_eq!(name(&Method::from_bytes(b"PURGE").unwrap()), "_OTHER");
    }
}
