/// To which key a request belongs.
///
/// A closure is a key; its parameter needs its type written out: `|request: &Request<_>| …`. What
/// it returns is text; for one that is borrowed from the request, implement this trait.
pub trait Key<Request> {
    /// Calls `look_up` with the key of the request.
    fn with_key<T>(&self, request: &Request, look_up: impl FnOnce(&str) -> T) -> T;
}

impl<Request, F, Text> Key<Request> for F
where
    F: Fn(&Request) -> Text,
    Text: AsRef<str>,
{
    #[inline]
    fn with_key<T>(&self, request: &Request, look_up: impl FnOnce(&str) -> T) -> T {
        look_up(self(request).as_ref())
    }
}
