use bytes::Bytes;

/// The first bytes of a response's body, in its extensions: left there by a layer that peeks at
/// bodies, for [`HttpClassifier::body`](crate::HttpClassifier::body).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked(pub Bytes);
