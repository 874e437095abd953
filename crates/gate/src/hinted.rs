use std::error::Error;
use std::sync::Arc;

use tidegate_admission::Place;
use tidegate_classify::ResponseHead;
use tidegate_cooldown::Listener;

use crate::{Attend, Call};

/// Does at a gate what responses say about the limits of their service, beside what else attends or
/// holds.
#[derive(Clone, Debug)]
pub struct Hinted<A> {
    attend: A,
    listener: Arc<Listener>,
}

impl<A> Hinted<A> {
    /// Beside `attend`.
    pub fn new(attend: A, listener: Listener) -> Self {
        Self {
            attend,
            listener: Arc::new(listener),
        }
    }

    /// What else attends or holds.
    pub fn get_ref(&self) -> &A {
        &self.attend
    }

    /// The head of a response is there, and its place is still held: nobody enters in between.
    #[inline]
    pub fn hear(&self, response: &impl ResponseHead) {
        self.listener.hear(response.status(), response.headers());
    }
}

impl<Req, Res, A> Attend<Req, Res> for Hinted<A>
where
    A: Attend<Req, Res>,
    Res: ResponseHead,
{
    type Call = Hearing<A::Call>;

    #[inline]
    fn call(&self, request: &Req) -> Self::Call {
        Hearing {
            call: self.attend.call(request),
            listener: Arc::clone(&self.listener),
        }
    }
}

/// One request through a gate that is [`Hinted`].
#[derive(Debug)]
pub struct Hearing<C> {
    call: C,
    listener: Arc<Listener>,
}

impl<Res, C> Call<Res> for Hearing<C>
where
    C: Call<Res>,
    Res: ResponseHead,
{
    type Response = C::Response;

    #[inline]
    fn send(&mut self) {
        self.call.send();
    }

    #[inline]
    fn respond(self, response: Res, place: Place) -> Self::Response {
        // While its place is held: nobody enters in between.
        self.listener.hear(response.status(), response.headers());
        self.call.respond(response, place)
    }

    #[inline]
    fn fail(self, error: &(dyn Error + 'static)) {
        self.call.fail(error);
    }
}
