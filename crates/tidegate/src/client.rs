use std::fmt;
use std::task::{Context, Poll};

use tidegate_core::{BoxError, Error};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;
use tower_service::Service;

/// A stack whose type can be named: for the state of a server, or a field.
///
/// It costs a box for each clone and one for each call, which a stack that is not boxed does not.
///
/// ```
/// use tidegate::{Client, GateLayer};
/// use tower::{ServiceBuilder, service_fn};
///
/// #[derive(Clone)]
/// struct App {
///     users: Client<http::Request<String>, http::Response<String>>,
/// }
///
/// let stack = ServiceBuilder::new()
///     .layer(GateLayer::new(10).hold_head())
///     .service(service_fn(|_| async { Ok::<_, std::io::Error>(http::Response::default()) }));
/// let app = App { users: Client::new(stack) };
/// # drop(app);
/// ```
pub struct Client<Request, Response>(BoxCloneSyncService<Request, Response, Error>);

impl<Request, Response> Client<Request, Response> {
    /// This stack, its type forgotten.
    pub fn new<S>(stack: S) -> Self
    where
        S: Service<Request, Response = Response> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        Request: 'static,
    {
        Self(BoxCloneSyncService::new(
            stack.map_err(Error::service as fn(_) -> _),
        ))
    }
}

impl<Request, Response> Service<Request> for Client<Request, Response> {
    type Response = Response;
    type Error = Error;
    type Future = <BoxCloneSyncService<Request, Response, Error> as Service<Request>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.call(request)
    }
}

impl<Request, Response> Clone for Client<Request, Response> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Request, Response> fmt::Debug for Client<Request, Response> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
