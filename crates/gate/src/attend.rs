use std::error::Error;

use tidegate_admission::Place;

use crate::Hold;

/// What goes along with each request through a [`Gate`](crate::Gate).
///
/// A plain gate attends to nothing but the place that it [holds](Hold). A layer that learns from the
/// answers looks at them here, so that it is one service with its gate.
pub trait Attend<Req, Res> {
    /// What goes along with one request.
    type Call: Call<Res>;

    /// Somebody asks to send it.
    fn call(&self, request: &Req) -> Self::Call;
}

/// Goes along with one request until the head of its response is there; dropped before that, its
/// caller gave up.
pub trait Call<Res> {
    /// What the caller gets.
    type Response;

    /// It has its permit and goes out.
    fn send(&mut self);

    /// The head of its response is there.
    fn respond(self, response: Res, place: Place) -> Self::Response;

    /// There will be no response. Its place is still held.
    fn fail(self, error: &(dyn Error + 'static));
}

impl<Req, Res, H: Hold<Res>> Attend<Req, Res> for H {
    type Call = H;

    #[inline]
    fn call(&self, _request: &Req) -> H {
        self.clone()
    }
}

impl<Res, H: Hold<Res>> Call<Res> for H {
    type Response = H::Response;

    #[inline]
    fn send(&mut self) {}

    #[inline]
    fn respond(self, response: Res, place: Place) -> H::Response {
        self.hold(response, place)
    }

    #[inline]
    fn fail(self, _error: &(dyn Error + 'static)) {}
}
