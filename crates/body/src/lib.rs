//! A response body that tells when it has ended.
