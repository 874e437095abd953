use std::sync::Arc;
use std::time::Duration;

use http::Version;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tidegate::{Cause, Outcome, Units};
use tidegate_testkit::{Act, Fault, Response, Upstream, UpstreamBuilder};

const LOST: Outcome = Outcome::Overload(Cause::Connection);

/// What is to happen to one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// When its caller comes, since the start.
    pub(crate) at: Duration,
    pub(crate) leaves: Leaves,
    pub(crate) fault: Option<Fault>,
    pub(crate) status: u16,
}

/// When its caller gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    Never,
    /// So long after it came, unless the head is there.
    After(Duration),
    /// When the head is there.
    AtHead,
    /// When the first piece of the body is there.
    InBody,
}

/// What its caller saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It left, or was refused by the gate, before the request was sent.
    Unsent,
    LeftBeforeHead,
    Failed,
    Head(u16, BodyEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    Read,
    Failed,
    Left,
}

/// How many requests, for how long, over which protocol.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) requests: usize,
    pub(crate) time: Duration,
    pub(crate) faults: Vec<Fault>,
    pub(crate) version: Version,
    pub(crate) seed: u64,
}

impl Course {
    pub(crate) fn draws(&self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.seed)
    }

    /// A third of the callers leave at some point, a fifth of the requests meet a fault, and some are
    /// answered with a status of their own.
    pub(crate) fn plans(&self) -> Arc<[Plan]> {
        let mut draws = self.draws();
        let plan = |_| {
            let fault = draws.random_bool(0.2).then(|| {
                let nth = draws.random_range(0..self.faults.len());
                self.faults[nth]
            });
            let status = match draws.random_range(0..100) {
                0 => 500,
                1 => 404,
                2 => 429,
                _ => 200,
            };
            let leaves = match draws.random_range(0..9) {
                0 => Leaves::After(self.time.mul_f64(draws.random::<f64>() / 100.0)),
                1 => Leaves::AtHead,
                2 => Leaves::InBody,
                _ => Leaves::Never,
            };
            let at = self.time.mul_f64(draws.random());
            Plan {
                at,
                leaves,
                fault,
                status,
            }
        };
        (0..self.requests).map(plan).collect()
    }

    /// An upstream that does as is planned for the request whose number is the path.
    pub(crate) fn upstream(&self, plans: &Arc<[Plan]>) -> UpstreamBuilder {
        let (scripted, answered) = (Arc::clone(plans), Arc::clone(plans));
        Upstream::workers(16)
            .queue(8)
            .seed(self.seed)
            .script(move |head, _| Act::from(scripted[number(head.uri.path())].fault))
            .respond(move |request| {
                let response = Response::new(answered[number(request.uri().path())].status);
                response.chunks(3, "tide ", 5.ms())
            })
    }
}

pub(crate) fn number(path: &str) -> usize {
    path[1..].parse().expect("a path is a number")
}

impl Plan {
    /// What a law has to hear of it, given what its caller saw.
    pub(crate) fn outcomes(&self, seen: Seen, version: Version) -> Vec<Outcome> {
        match seen {
            Seen::Unsent => vec![],
            Seen::LeftBeforeHead | Seen::Head(404, _) => vec![Outcome::Ignored],
            Seen::Failed => vec![match self.fault {
                Some(Fault::Silence) => Outcome::Overload(Cause::TimedOut),
                _ => LOST,
            }],
            // The answer of an upstream whose queue is full.
            Seen::Head(503, _) => vec![Outcome::Overload(Cause::Unavailable)],
            Seen::Head(429, _) => vec![Outcome::Overload(Cause::Throttled)],
            Seen::Head(500, _) => vec![Outcome::Failure],
            Seen::Head(_, BodyEnd::Failed) if version == Version::HTTP_2 => {
                vec![Outcome::Success, Outcome::Failure]
            }
            Seen::Head(_, BodyEnd::Failed) => vec![Outcome::Success, LOST],
            Seen::Head(..) => vec![Outcome::Success],
        }
    }

    /// Whether its caller could see that.
    pub(crate) fn allows(&self, seen: Seen) -> bool {
        let strikes_before_head = self.fault.is_some_and(fails_before_head);
        match seen {
            Seen::Unsent | Seen::LeftBeforeHead => matches!(self.leaves, Leaves::After(_)),
            Seen::Failed => strikes_before_head,
            // Refused before it was executed, so that no fault of the response could strike.
            Seen::Head(503, end) => end == BodyEnd::Read || self.leaves != Leaves::Never,
            Seen::Head(status, end) => {
                let ends_well = match end {
                    BodyEnd::Read => !self.fault.is_some_and(fails_in_body),
                    BodyEnd::Failed => self.fault.is_some_and(fails_in_body),
                    BodyEnd::Left => matches!(self.leaves, Leaves::AtHead | Leaves::InBody),
                };
                status == self.status && ends_well && !strikes_before_head
            }
        }
    }
}

pub(crate) fn fails_before_head(fault: Fault) -> bool {
    !fault.executes() || fault == Fault::ResetInHead
}

/// Apart from a long body, which HTTP/1 does not mind.
fn fails_in_body(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::ResetInBody | Fault::HalfCloseInBody | Fault::ShortBody | Fault::ResetStream
    )
}
