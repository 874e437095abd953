use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Extensions;
use reqwest::{Body, Response, ResponseBuilderExt, Url};

use crate::armed::Armed;
use crate::{AttachHook, End, Hook, HookedBody};

/// All hooks of one `reqwest::Response`: the one hook of its body, and an extension in its head,
/// where the next layer finds it.
#[derive(Clone)]
struct SharedHooks(Arc<Mutex<State>>);

enum State {
    Open(Option<Box<dyn Chain>>),
    Ended { complete: bool },
}

/// Hooks in the order in which they were attached.
trait Chain: Send {
    fn poll(&mut self);
    fn data(&mut self, data: &[u8]);
    fn fire(self: Box<Self>, end: End<'_>);
}

struct Link<H: Hook> {
    // Above `hook`, so that it drops before it.
    earlier: Option<Box<dyn Chain>>,
    hook: Armed<H>,
}

impl<H: Hook + Send> Chain for Link<H> {
    fn poll(&mut self) {
        if let Some(earlier) = &mut self.earlier {
            earlier.poll();
        }
        self.hook.poll();
    }

    fn data(&mut self, data: &[u8]) {
        if let Some(earlier) = &mut self.earlier {
            earlier.data(data);
        }
        self.hook.data(data);
    }

    fn fire(mut self: Box<Self>, end: End<'_>) {
        if let Some(earlier) = self.earlier.take() {
            earlier.fire(end);
        }
        self.hook.fire(end);
    }
}

impl SharedHooks {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(State::Open(None))))
    }

    /// Adds a hook; calls it at once if the body has ended.
    fn add<H: Hook + Send + 'static>(&self, hook: H) {
        let end = match &mut *self.lock() {
            State::Open(hooks) => {
                let earlier = hooks.take();
                let hook = Armed::open(hook);
                *hooks = Some(Box::new(Link { earlier, hook }));
                return;
            }
            State::Ended { complete: true } => End::Complete(None),
            State::Ended { complete: false } => End::Dropped,
        };
        let mut hook = Armed::open(hook);
        hook.fire(end);
    }

    /// Nothing that panics runs under the lock, so a poisoned state is a good one.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook for SharedHooks {
    fn on_poll(&mut self) {
        if let State::Open(Some(hooks)) = &mut *self.lock() {
            hooks.poll();
        }
    }

    fn on_data(&mut self, data: &[u8]) {
        if let State::Open(Some(hooks)) = &mut *self.lock() {
            hooks.data(data);
        }
    }

    fn on_end(self, end: End<'_>) {
        let ended = State::Ended {
            complete: matches!(end, End::Complete(_)),
        };
        // The hooks may run anything: the lock is released before they do.
        let state = mem::replace(&mut *self.lock(), ended);
        if let State::Open(Some(hooks)) = state {
            hooks.fire(end);
        }
    }
}

/// The first hook boxes the body anew (9 allocations); each later one is one allocation and a
/// lock, which is not held while a hook runs.
///
/// The later ones find the first through the response's extensions, so they stay with the body
/// that came with those, even where a layer between has put another in its place. A hook attached
/// to a body that has ended is called at once: with [`End::Complete`] if it was complete, else with
/// [`End::Dropped`].
impl<H: Hook + Send + 'static> AttachHook<H> for Response {
    type Output = Self;

    fn attach_hook(self, hook: H) -> Self {
        if let Some(hooks) = self.extensions().get::<SharedHooks>() {
            hooks.add(hook);
            return self;
        }
        let hooks = SharedHooks::new();
        hooks.add(hook);

        let url = self.url().clone();
        let (mut parts, body) = http::Response::<Body>::from(self).into_parts();
        parts.extensions = with_url(parts.extensions, url);
        parts.extensions.insert(hooks.clone());
        let body = Body::wrap(HookedBody::new(body, hooks));
        http::Response::from_parts(parts, body).into()
    }
}

/// Puts the URL where a `Response` made from an `http::Response` takes it: in an extension whose
/// type is private, which only this builder can write.
fn with_url(extensions: Extensions, url: Url) -> Extensions {
    let mut builder = http::Response::builder();
    if let Some(without_url) = builder.extensions_mut() {
        *without_url = extensions;
    }
    let mut builder = builder.url(url);
    builder.extensions_mut().map(mem::take).unwrap_or_default()
}
