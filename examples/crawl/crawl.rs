use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{GateLayer, KeyedLayer, Units, per};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::{FollowRedirectLayer, RequestUri};

use crate::arguments::Arguments;

/// What was found so far.
pub(crate) struct Crawl {
    limit: usize,
    delay: Duration,
    seen: HashSet<Uri>,
    /// The pages that were read, by the authority of their site.
    pub(crate) pages: BTreeMap<String, HashSet<Uri>>,
}

/// A page, where it was found in the end, and where it links to.
struct Page {
    uri: Uri,
    links: Vec<Uri>,
}

type Fetching = BoxFuture<'static, anyhow::Result<Page>>;

impl Crawl {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        Self {
            limit: arguments.limit as usize,
            delay: arguments.delay.ms(),
            seen: HashSet::new(),
            pages: BTreeMap::new(),
        }
    }

    pub(crate) async fn run(&mut self, first: String) -> anyhow::Result<()> {
        let (limit, delay) = (self.limit, self.delay);
        // This client follows no redirect by itself: each hop passes the gate of its own host.
        let stack = ServiceBuilder::new()
            .layer(FollowRedirectLayer::new())
            .layer(KeyedLayer::per_host(move |_host| {
                GateLayer::new(limit).pace(per(1.0, delay))
            }))
            .service(Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>());

        // Whoever waits is an entry in the queue of its host.
        let mut fetching = FuturesUnordered::<Fetching>::new();
        let first: Uri = first.parse()?;
        self.seen.insert(first.clone());
        fetching.push(Box::pin(fetch(stack.clone(), first)));
        while let Some(page) = fetching.next().await {
            for link in self.take(page?) {
                fetching.push(Box::pin(fetch(stack.clone(), link)));
            }
        }
        Ok(())
    }

    /// Where to go from this page.
    fn take(&mut self, page: Page) -> Vec<Uri> {
        // One that has moved may have been found where it is, too.
        self.seen.insert(page.uri.clone());
        let site = page.uri.authority().map(ToString::to_string);
        let read = self.pages.entry(site.unwrap_or_default()).or_default();
        read.insert(page.uri);
        let links = page.links.into_iter();
        links
            .filter(|link| self.seen.insert(link.clone()))
            .collect()
    }
}

async fn fetch<S, B>(stack: S, uri: Uri) -> anyhow::Result<Page>
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>, Error = tidegate::Error>,
    B: http_body::Body<Data = Bytes, Error: std::error::Error + Send + Sync + 'static>,
{
    let request = Request::get(&uri).body(Empty::new())?;
    let response = stack.oneshot(request).await?;
    let end = response.extensions().get::<RequestUri>();
    let uri = end.map_or(uri, |end| end.0.clone());
    let body = response.into_body().collect().await?.to_bytes();
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
