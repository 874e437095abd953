use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, OnceLock};

use http::Method;
use metrics::Label;
use tidegate_classify::{METHODS, RequestHead, method_index};
use tidegate_core::text;

use crate::durations::Durations;
use crate::names::OTHER;
use crate::top::Top;

/// How long requests take, by where they go and by method.
pub(crate) struct Hosts {
    labels: Vec<Label>,
    hasher: RandomState,
    named: Top<Host>,
    other: Host,
}

struct Host {
    /// As in a request, but for case and a dot at its end.
    name: Box<str>,
    port: Option<u16>,
    labels: Vec<Label>,
    by_method: [OnceLock<Arc<Durations>>; METHODS.len()],
}

/// No name is longer that can be resolved (RFC 1035 §2.3.4).
const LONGEST: usize = 253;

impl Hosts {
    pub(crate) fn new(labels: &[Label]) -> Self {
        Self {
            labels: labels.to_vec(),
            hasher: RandomState::new(),
            named: Top::default(),
            other: Host::new(labels, OTHER, None),
        }
    }

    pub(crate) fn set_most(&self, most: usize) {
        self.named.set_most(most);
    }

    /// Those that this request counts among.
    #[inline]
    pub(crate) fn durations(&self, request: &impl RequestHead) -> &Arc<Durations> {
        let (host, port) = request.destination();
        let host = host.strip_suffix('.').unwrap_or(host);
        let known = self.named.find(|known| known.is(host, port));
        let host = known.unwrap_or_else(|| self.meet(host, port));
        host.durations(request.method())
    }

    #[cold]
    fn meet(&self, host: &str, port: Option<u16>) -> &Host {
        if host.is_empty() || host.len() > LONGEST {
            return &self.other;
        }
        let hash = self.hash(host, port);
        let new = || Host::new(&self.labels, host, port);
        let named = self.named.meet(hash, |known| known.is(host, port), new);
        named.unwrap_or(&self.other)
    }

    fn hash(&self, host: &str, port: Option<u16>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        for byte in host.bytes() {
            hasher.write_u8(byte.to_ascii_lowercase());
        }
        hasher.write_u16(port.unwrap_or_default());
        hasher.finish()
    }
}

impl Host {
    fn new(labels: &[Label], name: &str, port: Option<u16>) -> Self {
        let name = name.to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        let address = Label::new("server.address", text::name(address));
        let port_label = port.map(|port| Label::new("server.port", port.to_string()));
        let labels = labels.iter().cloned();
        Self {
            labels: labels.chain([address]).chain(port_label).collect(),
            name: name.into(),
            port,
            by_method: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    #[inline]
    fn is(&self, name: &str, port: Option<u16>) -> bool {
        self.port == port && (*self.name == *name || self.name.eq_ignore_ascii_case(name))
    }

    #[inline]
    fn durations(&self, method: &Method) -> &Arc<Durations> {
        let index = method_index(method);
        self.by_method[index].get_or_init(|| {
            let method = Label::new("http.request.method", METHODS[index]);
            let labels = self.labels.iter().cloned().chain([method]);
            Arc::new(Durations::new(labels.collect()))
        })
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.named.iter().map(|host| (&host.name, host.port));
        f.debug_list().entries(names).finish()
    }
}
