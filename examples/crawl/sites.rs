use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use tidegate::Units;
use tidegate_testkit::{Exponential, Response, Upstream};

/// A small web: some sites, whose pages link to each other.
///
/// Page `n` of a site links to `2n + 1` and `2n + 2`, so that all are found from the first. Each fifth
/// page also links to one that has moved to the next site.
pub(crate) struct Sites {
    sites: Vec<Upstream>,
}

impl Sites {
    pub(crate) async fn start(sites: u32, pages: u32) -> Self {
        let known: Arc<OnceLock<Vec<String>>> = Arc::default();
        let mut started = Vec::new();
        for site in 0..sites {
            let next = Arc::clone(&known);
            let next = move || {
                let sites = next.get().expect("all are known before the first request");
                sites[(site + 1) as usize % sites.len()].clone()
            };
            let upstream = Upstream::workers(8)
                .service_time(Exponential(20.ms()))
                .seed(u64::from(site))
                .respond(move |request| respond(request.uri().path(), pages, &next))
                .start()
                .await;
            started.push(upstream);
        }
        let uris = started.iter().map(|site| site.uri().to_owned()).collect();
        known.set(uris).expect("it is set once");
        Self { sites: started }
    }

    pub(crate) fn first_page(&self) -> String {
        format!("{}/page/0", self.sites[0].uri())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Upstream> {
        self.sites.iter()
    }
}

fn respond(path: &str, pages: u32, next_site: &impl Fn() -> String) -> Response {
    let number = |text: &str| text.parse().ok().filter(|&page: &u32| page < pages);
    if let Some(page) = path.strip_prefix("/moved/").and_then(number) {
        return Response::redirect(302, &format!("{}/page/{page}", next_site()));
    }
    let Some(page) = path.strip_prefix("/page/").and_then(number) else {
        return Response::new(404);
    };
    let mut body = String::from("<html>");
    for link in [2 * page + 1, 2 * page + 2] {
        if link < pages {
            write!(body, "<a href=\"/page/{link}\">{link}</a>").expect("a string takes it");
        }
    }
    if page % 5 == 0 {
        write!(body, "<a href=\"/moved/{page}\">moved</a>").expect("a string takes it");
    }
    Response::new(200).body(body)
}
