use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tidegate::Units;
use tidegate_testkit::{Exponential, Upstream};

use super::arguments::Arguments;
use super::capacity::Capacity;
use super::page::respond;

/// A small web: some sites, whose pages link to each other.
pub(crate) struct Sites {
    sites: BTreeMap<String, (Upstream, Capacity)>,
}

impl Sites {
    pub(crate) async fn start(arguments: &Arguments) -> Self {
        let (hosts, pages) = (arguments.hosts, arguments.pages);
        let known: Arc<OnceLock<Vec<String>>> = Arc::default();
        let mut started = Vec::new();
        for site in 0..hosts {
            let next = Arc::clone(&known);
            let next = move || {
                let sites = next.get().expect("all are known before the first request");
                sites[(site + 1) as usize % sites.len()].clone()
            };
            let upstream = Upstream::workers(8)
                .service_time(Exponential(10.ms()))
                .seed(u64::from(site))
                .respond(move |request| respond(request.uri().path(), pages, &next))
                .start()
                .await;
            started.push(upstream);
        }
        let names = started.iter().map(name).collect();
        known.set(names).expect("it is set once");
        let sites = started.into_iter().zip(0..).map(|(site, number)| {
            let capacity = Capacity::of(number, hosts, arguments.slowest, arguments.fastest);
            (name(&site), (site, capacity))
        });
        Self {
            sites: sites.collect(),
        }
    }

    pub(crate) fn capacities(&self) -> BTreeMap<String, Capacity> {
        let sites = self.sites.iter();
        sites
            .map(|(name, (_, capacity))| (name.clone(), *capacity))
            .collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Upstream, Capacity)> {
        let sites = self.sites.iter();
        sites.map(|(name, (site, capacity))| (&**name, site, *capacity))
    }
}

fn name(site: &Upstream) -> String {
    site.uri().trim_start_matches("http://").to_owned()
}
