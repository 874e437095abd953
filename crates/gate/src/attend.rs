use std::error::Error;

use tidegate_admission::Place;

use crate::{Hold, HoldBody, HoldBodyMax, HoldHead};

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

/// One by one: for all that hold at once would leave no room for others that attend.
macro_rules! attend_by_holding {
    ($($hold:ty),*) => {$(
        impl<Req, Res> Attend<Req, Res> for $hold
        where
            $hold: Hold<Res>,
        {
            type Call = $hold;

            #[inline]
            fn call(&self, _request: &Req) -> $hold {
                self.clone()
            }
        }

        impl<Res> Call<Res> for $hold
        where
            $hold: Hold<Res>,
        {
            type Response = <$hold as Hold<Res>>::Response;

            #[inline]
            fn send(&mut self) {}

            #[inline]
            fn respond(self, response: Res, place: Place) -> Self::Response {
                self.hold(response, place)
            }

            #[inline]
            fn fail(self, _error: &(dyn Error + 'static)) {}
        }
    )*};
}

attend_by_holding!(HoldBody, HoldBodyMax, HoldHead);
