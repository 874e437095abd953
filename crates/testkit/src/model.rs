use std::time::Duration;

use http::Method;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::background::Background;
use crate::ledger::{Departure, Ledger};
use crate::meters::Meters;
use crate::station::{Admission, Station};
use crate::{Fault, ServiceTime};

/// All that moves, and what becomes of a request: it neither waits, nor wakes, nor sends.
#[derive(Debug)]
pub(crate) struct Model<W> {
    pub(crate) station: Station<W>,
    pub(crate) ledger: Ledger,
    pub(crate) meters: Meters,
    pub(crate) background: Background,
    /// Added to every service time.
    pub(crate) latency: Duration,
    pub(crate) silent: bool,
    times: Xoshiro256PlusPlus,
}

/// A request as it was noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    pub(crate) index: u64,
    pub(crate) time: Duration,
    /// The status of its background failure.
    pub(crate) failure: Option<u16>,
    /// That it meets unless its script says something else.
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Worker,
    Queue,
    Refused,
    /// By a meter, for so long.
    Limited(Duration),
    Unanswered(Fault),
}

impl<W> Model<W> {
    pub(crate) fn new(
        station: Station<W>,
        ledger: Ledger,
        background: Background,
        seed: u64,
    ) -> Self {
        Self {
            station,
            ledger,
            meters: Meters::default(),
            background: background.seed(seed),
            latency: Duration::ZERO,
            silent: false,
            times: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    pub(crate) fn note(
        &mut self,
        at: Duration,
        method: &Method,
        key: &str,
        time: ServiceTime,
    ) -> Noted {
        let drawn = time.draw(&mut self.times);
        let (failure, fault) = self.background.draw();
        Noted {
            index: self.ledger.arrive(at, method, key),
            time: drawn.saturating_add(self.latency),
            failure,
            fault,
        }
    }

    /// A fault comes first, then the meters, then the workers and their queue. `ignored` is a request
    /// that a server would not read any more.
    pub(crate) fn judge(
        &mut self,
        index: u64,
        at: Duration,
        fault: Option<Fault>,
        ignored: bool,
        waiter: impl FnOnce() -> W,
    ) -> Verdict {
        if ignored || self.silent {
            self.ledger.depart(Departure::Unanswered);
            return Verdict::Unanswered(Fault::Silence);
        }
        if let Some(fault) = fault.filter(|fault| !fault.executes()) {
            self.ledger.strike(fault);
            self.ledger.depart(Departure::Unanswered);
            return Verdict::Unanswered(fault);
        }
        if let Err(wait) = self.meters.charge(at) {
            self.ledger.depart(Departure::Limited);
            return Verdict::Limited(wait);
        }
        match self.station.arrive(index, waiter) {
            Admission::Worker => Verdict::Worker,
            Admission::Queue => Verdict::Queue,
            Admission::Refused => {
                self.ledger.depart(Departure::Refused);
                Verdict::Refused
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Bucket;

    const AT: Duration = Duration::from_secs(1);

    /// One worker, no queue, one token a second.
    fn model() -> Model<()> {
        let mut model = Model::new(Station::new(1, 0), Ledger::new(9), Background::new(), 0);
        model.meters.set_bucket(Bucket::new(1.0, 1));
        model
    }

    fn judge(model: &mut Model<()>, at: Duration, fault: Option<Fault>) -> Verdict {
        model.judge(0, at, fault, false, || ())
    }

    #[test]
    fn a_fault_before_the_execution_takes_no_token_and_no_worker() {
        let mut model = model();
        for fault in Fault::EXAMPLES
            .into_iter()
            .filter(|fault| !fault.executes())
        {
            let verdict = judge(&mut model, AT, Some(fault));
            assert_eq!(verdict, Verdict::Unanswered(fault));
        }
        assert_eq!(judge(&mut model, AT, None), Verdict::Worker);
    }

    #[test]
    fn a_fault_at_the_response_needs_a_token_and_a_worker() {
        let mut model = model();
        let fault = Some(Fault::ResetInBody);
        assert_eq!(judge(&mut model, AT, fault), Verdict::Worker);
        assert_eq!(judge(&mut model, AT, fault), Verdict::Limited(AT));
        assert_eq!(judge(&mut model, AT * 2, fault), Verdict::Refused);
    }

    #[test]
    fn whoever_the_workers_refuse_has_taken_its_token() {
        let mut model = model();
        judge(&mut model, AT, None);
        assert_eq!(judge(&mut model, AT * 2, None), Verdict::Refused);
        assert_eq!(judge(&mut model, AT * 2, None), Verdict::Limited(AT));
    }

    #[test]
    fn silence_comes_before_everything() {
        let mut model = model();
        model.silent = true;
        let verdict = judge(&mut model, AT, Some(Fault::RefusedStream));
        assert_eq!(verdict, Verdict::Unanswered(Fault::Silence));
        model.silent = false;
        assert_eq!(judge(&mut model, AT, None), Verdict::Worker);
    }
}
