use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};

use crate::{Exhausted, Fault};

/// One request as it arrived, whether it was then served, refused or given up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// How many requests arrived before it, retries of the same one included.
    pub index: u64,
    /// When its head was read, since the upstream's start.
    pub at: Duration,
    /// Its method.
    pub method: Method,
    /// Its key: its path, unless the upstream was given another.
    pub key: Arc<str>,
    /// When its execution began, since the upstream's start; `None` if it did not. See
    /// [`Report::executed`].
    pub executed: Option<Duration>,
}

/// What an upstream saw so far.
///
/// Each arrival ends in exactly one way: `arrivals = served + refused + limited + cancelled + aborted +
/// unanswered + in_flight`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Requests whose head was read.
    pub arrivals: u64,
    /// Begun: a worker took it, read its body and called
    /// [`respond`](crate::UpstreamBuilder::respond), whatever came of it. What is refused, limited,
    /// given up in the queue or struck by a fault before that is not.
    pub executed: u64,
    /// Answered to the end of the body, with whatever status.
    pub served: u64,
    /// Answered at once with the refusal: the queue was full, or there was an outage.
    pub refused: u64,
    /// Answered at once with the refusal of the rate, of a window or of the tokens.
    pub limited: u64,
    /// What the requests did cost of the [tokens](crate::UpstreamBuilder::tokens): the estimates, corrected
    /// by the responses that have ended.
    pub tokens: u64,
    /// Given up by the client in the queue, in service or within the body.
    pub cancelled: u64,
    /// Cut off within the head or the body, because the response or a fault said so.
    pub aborted: u64,
    /// Not answered at all: silence, or a fault before the head.
    pub unanswered: u64,
    /// See [`Upstream::in_flight`](crate::Upstream::in_flight).
    pub in_flight: usize,
    /// See [`Upstream::peak_in_flight`](crate::Upstream::peak_in_flight).
    pub peak_in_flight: usize,
    /// Arrivals of each key. Keys beyond the size of the log are not counted.
    pub by_key: BTreeMap<Arc<str>, u64>,
    /// Requests that a fault struck, by [`Fault::name`](crate::Fault::name).
    pub by_fault: BTreeMap<&'static str, u64>,
    /// Heads handed to the connection, by status: refusals too, and none that a fault cuts off
    /// within itself.
    pub by_status: BTreeMap<u16, u64>,
    /// Arrivals that the log had no room for.
    pub unlogged: u64,
    /// Connections that could not be accepted.
    pub accept_errors: u64,
    /// What this machine ran out of when a connection could not be accepted: not a failure of the
    /// upstream that it plays.
    pub exhausted: Option<Exhausted>,
}

/// How a request left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    Served,
    Refused,
    Limited,
    Cancelled,
    Aborted,
    Unanswered,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    /// The most arrivals in `log`, and the most keys in `by_key`.
    room: usize,
    log: Vec<Arrival>,
    by_key: HashMap<Arc<str>, u64>,
    counts: Report,
}

impl Ledger {
    pub(crate) fn new(room: usize) -> Self {
        Self {
            room,
            log: Vec::new(),
            by_key: HashMap::new(),
            counts: Report::default(),
        }
    }

    /// The index of this arrival.
    pub(crate) fn arrive(&mut self, at: Duration, method: &Method, key: &str) -> u64 {
        let index = self.counts.arrivals;
        self.counts.arrivals += 1;
        let key = self.count_key(key);
        if self.log.len() < self.room {
            self.log.push(Arrival {
                index,
                at,
                method: method.clone(),
                key,
                executed: None,
            });
        } else {
            self.counts.unlogged += 1;
        }
        index
    }

    fn count_key(&mut self, key: &str) -> Arc<str> {
        if let Some((known, _)) = self.by_key.get_key_value(key) {
            let known = Arc::clone(known);
            *self.by_key.get_mut(key).expect("it was there") += 1;
            return known;
        }
        let key: Arc<str> = key.into();
        if self.by_key.len() < self.room {
            self.by_key.insert(Arc::clone(&key), 1);
        }
        key
    }

    pub(crate) fn execute(&mut self, index: u64, at: Duration) {
        self.counts.executed += 1;
        if let Some(arrival) = self.log.get_mut(index as usize) {
            arrival.executed = Some(at);
        }
    }

    pub(crate) fn strike(&mut self, fault: Fault) {
        *self.counts.by_fault.entry(fault.name()).or_default() += 1;
    }

    pub(crate) fn answer(&mut self, status: StatusCode) {
        *self.counts.by_status.entry(status.as_u16()).or_default() += 1;
    }

    pub(crate) fn charge(&mut self, tokens: u32) {
        self.counts.tokens += u64::from(tokens);
    }

    pub(crate) fn settle(&mut self, charged: u32, used: u32) {
        self.counts.tokens = self.counts.tokens + u64::from(used) - u64::from(charged);
    }

    pub(crate) fn depart(&mut self, how: Departure) {
        let counts = &mut self.counts;
        *match how {
            Departure::Served => &mut counts.served,
            Departure::Refused => &mut counts.refused,
            Departure::Limited => &mut counts.limited,
            Departure::Cancelled => &mut counts.cancelled,
            Departure::Aborted => &mut counts.aborted,
            Departure::Unanswered => &mut counts.unanswered,
        } += 1;
    }

    pub(crate) fn accept_error(&mut self, error: &io::Error) {
        self.counts.accept_errors += 1;
        self.counts.exhausted = Exhausted::find(error).or(self.counts.exhausted);
    }

    pub(crate) fn report(&self, in_flight: usize, peak_in_flight: usize) -> Report {
        Report {
            in_flight,
            peak_in_flight,
            by_key: self.by_key.clone().into_iter().collect(),
            ..self.counts.clone()
        }
    }

    pub(crate) fn arrivals(&self) -> &[Arrival] {
        &self.log
    }
}

/// The most of those moments in any half-open window `[t, t + window)`.
///
/// ```
/// use std::time::Duration;
/// use tidegate_testkit::{Upstream, most_in};
///
/// # async fn of(upstream: Upstream) {
/// let arrivals = upstream.arrivals();
/// let of_alice = arrivals.iter().filter(|arrival| *arrival.key == *"alice");
/// assert!(most_in(Duration::from_secs(1), of_alice.map(|arrival| arrival.at)) <= 10);
///
/// let executed = arrivals.iter().filter(|arrival| arrival.executed.is_some());
/// assert!(most_in(Duration::from_secs(1), executed.map(|arrival| arrival.at)) <= 100);
/// # }
/// ```
pub fn most_in(window: Duration, moments: impl IntoIterator<Item = Duration>) -> usize {
    let mut moments: Vec<_> = moments.into_iter().collect();
    moments.sort_unstable();
    let mut first = 0;
    let mut most = 0;
    for (last, at) in moments.iter().enumerate() {
        while first < last && moments[first].saturating_add(window) <= *at {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(room: usize, at: &[u64]) -> Ledger {
        let mut ledger = Ledger::new(room);
        for at in at {
            ledger.arrive(Duration::from_millis(*at), &Method::GET, &format!("/{at}"));
        }
        ledger
    }

    #[test]
    fn a_window_is_half_open() {
        let moments = [0, 14, 5, 10, 0, 30].map(Duration::from_millis);
        let most = |ms| most_in(Duration::from_millis(ms), moments);
        assert_eq!((most(10), most(11), most(1), most(31)), (3, 4, 2, 6));
        assert_eq!(most(0), 1);
        assert_eq!(most_in(Duration::MAX, []), 0);
    }

    #[test]
    fn a_full_log_counts_what_it_leaves_out() {
        let mut ledger = ledger(2, &[1, 2, 3]);
        ledger.arrive(Duration::from_millis(4), &Method::GET, "/1");
        let report = ledger.report(0, 0);
        assert_eq!(ledger.arrivals().len(), 2);
        assert_eq!((report.arrivals, report.unlogged), (4, 2));
        assert_eq!(
            report.by_key.into_iter().collect::<Vec<_>>(),
            [("/1".into(), 2), ("/2".into(), 1)]
        );
    }
}
