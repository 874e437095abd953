/// A request's body that can be sent again: any that is `Clone`, such as `Full<Bytes>`, `Empty` or
/// `String`, and [`ReplayBody`](crate::ReplayBody) around any other.
#[diagnostic::on_unimplemented(
    message = "a body of type `{Self}` cannot be sent again",
    note = "wrap it with `ReplayBody::new(body, max_bytes)`; with 0 bytes it is sent exactly once"
)]
pub trait RetryBody: Sized {
    /// The same body from its beginning, if it can be had.
    fn try_clone(&self) -> Option<Self>;

    /// Whether this one, of which a clone was sent, can still be sent whole.
    fn is_whole(&self) -> bool {
        true
    }
}

impl<B: Clone> RetryBody for B {
    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}
