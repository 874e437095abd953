use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Empty};
use tidegate::{BoxError, GateLayer, KeyedLayer, Settings};
use tokio::time::Instant;
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::{FollowRedirectLayer, RequestUri};

use super::capacity::Capacity;

/// What was found.
#[derive(Default)]
pub(crate) struct Crawl {
    seen: HashSet<Uri>,
    /// The pages that were read, by their host.
    pub(crate) pages: BTreeMap<String, HashSet<Uri>>,
    /// When requests were sent to each host, redirected ones too, in seconds.
    pub(crate) starts: BTreeMap<String, Vec<f64>>,
    /// How long it took.
    pub(crate) seconds: f64,
}

/// A page, where it was found in the end, and where it links to.
struct Page {
    uri: Uri,
    links: Vec<Uri>,
}

type Head = Request<Empty<Bytes>>;
type Fetching = BoxFuture<'static, anyhow::Result<Page>>;

/// Reads all pages that can be found from the first ones of these hosts.
pub(crate) async fn crawl<S, B>(
    client: S,
    hosts: &BTreeMap<String, Capacity>,
) -> anyhow::Result<Crawl>
where
    S: Service<Head, Response = Response<B>, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let settings = hosts
        .iter()
        .fold(Settings::new(), |settings, (host, capacity)| {
            settings.key(host, capacity.settings())
        });
    // A host that is not known gets one request at a time.
    let keyed = KeyedLayer::per_host(|_host| GateLayer::new(1));
    keyed.handle().load(settings);

    let began = now();
    let starts: Arc<Mutex<BTreeMap<String, Vec<f64>>>> = Arc::default();
    let log = Arc::clone(&starts);
    // This client follows no redirect by itself: each hop passes the gate of its own host.
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::new())
        .layer(keyed)
        .map_request(move |request: Head| {
            let mut log = log.lock().expect("nobody panics with it");
            let starts = log.entry(host(request.uri())).or_default();
            starts.push((now() - began).as_secs_f64());
            request
        })
        .service(client);

    let mut crawl = Crawl::default();
    // Whoever waits is an entry in the queue of its host.
    let mut fetching = FuturesUnordered::<Fetching>::new();
    let mut found = Vec::new();
    for host in hosts.keys() {
        found.push(format!("http://{host}/page/0").parse()?);
    }
    crawl.seen.extend(found.iter().cloned());
    loop {
        for uri in found.drain(..) {
            fetching.push(Box::pin(fetch(stack.clone(), uri)));
        }
        let Some(page) = fetching.next().await else {
            break;
        };
        found = crawl.take(page?);
    }
    crawl.seconds = (now() - began).as_secs_f64();
    crawl.starts = std::mem::take(&mut *starts.lock().expect("nobody panics with it"));
    Ok(crawl)
}

impl Crawl {
    /// Where to go from this page.
    fn take(&mut self, page: Page) -> Vec<Uri> {
        // One that has moved may have been found where it is, too.
        self.seen.insert(page.uri.clone());
        let read = self.pages.entry(host(&page.uri)).or_default();
        read.insert(page.uri);
        let links = page.links.into_iter();
        links
            .filter(|link| self.seen.insert(link.clone()))
            .collect()
    }
}

async fn fetch<S, B>(stack: S, uri: Uri) -> anyhow::Result<Page>
where
    S: Service<Head, Response = Response<B>, Error = tidegate::Error>,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let request = Request::get(&uri).body(Empty::new())?;
    let response = stack.oneshot(request).await?;
    let end = response.extensions().get::<RequestUri>();
    let uri = end.map_or(uri, |end| end.0.clone());
    let body = response.into_body().collect().await;
    let body = body
        .map_err(|error| anyhow::anyhow!(error.into()))?
        .to_bytes();
    let text = str::from_utf8(&body).with_context(|| format!("{uri} is no text"))?;
    let links = text.split("href=\"").skip(1).filter_map(|rest| {
        let (link, _) = rest.split_once('"')?;
        resolve(&uri, link)
    });
    let links = links.collect();
    Ok(Page { uri, links })
}

/// A link with a path of its own host, which is all that these sites have.
fn resolve(base: &Uri, link: &str) -> Option<Uri> {
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(link.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// And its port, if it is written.
fn host(uri: &Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program is a shell: here it reads the clock"
)]
fn now() -> Instant {
    Instant::now()
}
