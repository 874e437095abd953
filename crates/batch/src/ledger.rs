use tidegate_core::{Error, Refused};

use crate::checkpoint::Checkpoint;
use crate::ended::Ended;
use crate::failed::Failed;
use crate::job::{Begun, Job};
use crate::journal::Journal;
use crate::numbers::Numbers;
use crate::stopped::Stopped;
use crate::tally::Tally;
use crate::told::Told;

/// What becomes of each try: counted, and whether the run goes on; and what is written down.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) tally: Tally,
    pub(crate) stopped: Option<Stopped>,
    journal: Option<Journal>,
    stop_at_first_failure: bool,
}

/// A try that ended.
pub(crate) enum Next<R, T> {
    Ended(Ended<T>),
    Again(Job<R>),
}

impl Ledger {
    pub(crate) fn new(stop_at_first_failure: bool) -> Self {
        Self {
            tally: Tally::new(),
            stopped: None,
            journal: None,
            stop_at_first_failure,
        }
    }

    /// Reads what is done; a file that cannot be used stops the run.
    pub(crate) fn open(
        &mut self,
        checkpoint: Option<Checkpoint>,
        requests: Option<usize>,
    ) -> Numbers {
        match checkpoint.map(|checkpoint| Journal::open(checkpoint, requests)) {
            None => Numbers::default(),
            Some(Ok((done, journal))) => {
                self.journal = Some(journal);
                Numbers::new(done)
            }
            Some(Err(error)) => {
                self.stop(Stopped::Checkpoint(error));
                Numbers::default()
            }
        }
    }

    /// The first reason is kept.
    pub(crate) fn stop(&mut self, why: Stopped) {
        self.stopped.get_or_insert(why);
    }

    pub(crate) fn end<R, T>(&mut self, begun: Begun<R>, told: Told<T>) -> Next<R, T> {
        let (index, tries) = (begun.index, begun.tries);
        let result = match told.result {
            Ok(value) => {
                self.tally.try_succeeded(told.latency);
                Ok(value)
            }
            Err(Failed { error, again }) => {
                let refused = self.failed_try(told.refused.as_ref(), &error);
                match begun.again().filter(|_| again) {
                    Some(job) => return Next::Again(job),
                    None => Err(self.failed(index, refused, error)),
                }
            }
        };
        Next::Ended(Ended {
            index,
            tries,
            result,
        })
    }

    /// Whether it was refused.
    fn failed_try(&mut self, refused: Option<&Refused>, error: &Error) -> bool {
        let refused = refused.or_else(|| error.refused());
        self.tally.try_failed(refused);
        refused.is_some()
    }

    fn failed(&mut self, index: usize, refused: bool, error: Error) -> Error {
        self.tally.failed(index, refused, &error);
        if self.stop_at_first_failure {
            self.stop(Stopped::FirstFailure);
        }
        error
    }

    /// Nothing more will be written down: another run may have the file.
    pub(crate) fn close(&mut self) {
        self.journal = None;
    }

    /// A request is done. After the first write that fails the file ends with what may be half a line:
    /// nothing is added.
    pub(crate) fn write_down(&mut self, index: usize) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        if let Err(error) = journal.add(index) {
            self.journal = None;
            self.stop(Stopped::Checkpoint(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_write_that_fails_stops_the_run_and_is_the_last() {
        let mut ledger = Ledger::new(false);
        ledger.journal = Some(Journal::broken());
        ledger.write_down(3);
        assert!(ledger.journal.is_none());
        let Some(Stopped::Checkpoint(error)) = &ledger.stopped else {
            panic!("it goes on");
        };
        assert!(error.to_string().starts_with("cannot use the checkpoint "));
    }
}
