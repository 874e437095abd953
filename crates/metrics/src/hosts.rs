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
    /// As the first request to it was written, but for credentials, with the port of its scheme: most of the
    /// others are, too.
    written: (Box<str>, Option<u16>),
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
            other: Host::new(labels, OTHER, None, (OTHER, None)),
        }
    }

    pub(crate) fn set_most(&self, most: usize) {
        self.named.set_most(most);
    }

    /// Those that this request counts among.
    #[inline]
    pub(crate) fn durations(&self, request: &impl RequestHead) -> &Arc<Durations> {
        let written = request.authority();
        let known = self.named.find(|known| known.was_written(written));
        let host = known.unwrap_or_else(|| self.take_apart(request, written));
        host.durations(request.method())
    }

    /// It was written in another way before, or it is new.
    #[inline(never)]
    fn take_apart(&self, request: &impl RequestHead, written: (&str, Option<u16>)) -> &Host {
        let (host, port) = request.destination();
        let host = host.strip_suffix('.').unwrap_or(host);
        let known = self.named.find(|known| known.is(host, port));
        known.unwrap_or_else(|| self.meet(host, port, written))
    }

    #[cold]
    fn meet(&self, host: &str, port: Option<u16>, written: (&str, Option<u16>)) -> &Host {
        if host.is_empty() || host.len() > LONGEST {
            return &self.other;
        }
        let hash = self.hash(host, port);
        let new = || Host::new(&self.labels, host, port, written);
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
    fn new(
        labels: &[Label],
        name: &str,
        port: Option<u16>,
        (written, of_scheme): (&str, Option<u16>),
    ) -> Self {
        let name = name.to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        let address = Label::new("server.address", text::name(address));
        let port_label = port.map(|port| Label::new("server.port", port.to_string()));
        let labels = labels.iter().cloned();
        let (_, written) = written.rsplit_once('@').unwrap_or(("", written));
        Self {
            labels: labels.chain([address]).chain(port_label).collect(),
            written: (written.into(), of_scheme),
            name: name.into(),
            port,
            by_method: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    #[inline]
    fn was_written(&self, (written, of_scheme): (&str, Option<u16>)) -> bool {
        *self.written.0 == *written && self.written.1 == of_scheme
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_kept() {
        let written = ("me:secret@a.example:8080", Some(80));
        let host = Host::new(&[], "a.example", Some(8080), written);
        assert!(host.was_written(("a.example:8080", Some(80))));
    }
}
