use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, Scope};

use crate::blocking::Batch;
use crate::blocking::run::{Input, Run, Turn};
use crate::clock::now;
use crate::failed::{Failed, Finish};
use crate::job::Begun;
use crate::panicked::Panicked;
use crate::progress::PERIOD;
use crate::summary::Summary;
use crate::told::Told;

/// Many requests, and what a try of each is: to be [run](Self::run).
#[must_use = "nothing is done before it is run"]
pub struct Each<I: Iterator, F> {
    batch: Batch<I>,
    each: F,
}

impl<I: Iterator, F> Each<I, F> {
    pub(crate) fn new(batch: Batch<I>, each: F) -> Self {
        Self { batch, each }
    }

    /// Runs to the end, on this thread and others, and tells what became of it.
    ///
    /// # Panics
    ///
    /// If the input, the copying of a request, what it goes on [until](Batch::until), or who is told of the
    /// progress does.
    pub fn run<V>(self) -> Summary
    where
        I: Send,
        I::Item: Send,
        F: Fn(usize, I::Item) -> V + Sync,
        V: Finish,
    {
        let threads = Threads {
            run: Mutex::new(Run::new(self.batch)),
            changed: Condvar::new(),
            each: self.each,
        };
        thread::scope(|scope| threads.enter(scope));
        let run = threads.run.into_inner();
        let mut run = run.unwrap_or_else(PoisonError::into_inner);
        match run.panic.take() {
            Some(panic) => resume_unwind(panic),
            None => run.into_summary(),
        }
    }
}

/// What the threads share.
struct Threads<I: Iterator, F> {
    run: Mutex<Run<I>>,
    /// A try ended, or the input gave something.
    changed: Condvar,
    each: F,
}

/// A request to try, if there was one, and the lock again.
type Asked<'a, I> = (
    MutexGuard<'a, Run<I>>,
    Option<(<I as Iterator>::Item, Begun<<I as Iterator>::Item>)>,
);

impl<I, F, V> Threads<I, F>
where
    I: Iterator + Send,
    I::Item: Send,
    F: Fn(usize, I::Item) -> V + Sync,
    V: Finish,
{
    /// One thread. What panics in it, other than a try, ends the run.
    fn enter<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work(scope))) {
            self.lock().panic.get_or_insert(panic);
            self.changed.notify_all();
        }
    }

    /// Its part. Whoever takes a request while all are busy has another thread look for more.
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut run = self.lock();
        loop {
            // A panic behind the lock.
            if self.run.is_poisoned() {
                return;
            }
            let (request, begun) = match run.turn() {
                Turn::Try(request, begun) => (request, begun),
                Turn::Ask(input) => {
                    drop(run);
                    let asked;
                    (run, asked) = self.ask(input);
                    match asked {
                        Some(asked) => asked,
                        None => continue,
                    }
                }
                Turn::Wait => {
                    let waited = self.changed.wait_timeout(run, PERIOD);
                    (run, _) = waited.unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                Turn::Over => return,
            };
            if run.wants_another() {
                let another = Builder::new().spawn_scoped(scope, || self.enter(scope));
                if another.is_err() {
                    run.without_another();
                }
            }
            drop(run);
            let told = self.attempt(request, &begun);
            run = self.lock();
            run.end(begun, told);
            self.changed.notify_all();
        }
    }

    /// Asks the input for a request, and gives it back.
    fn ask(&self, mut input: Input<I>) -> Asked<'_, I> {
        let job = input.next();
        let mut run = self.lock();
        self.changed.notify_all();
        let asked = run.asked(input, job);
        (run, asked)
    }

    fn attempt(&self, request: I::Item, begun: &Begun<I::Item>) -> Told<V::Value> {
        let started = now();
        let each = || (self.each)(begun.index, request).finish();
        match catch_unwind(AssertUnwindSafe(each)) {
            Ok(result) => Told {
                latency: now() - started,
                ..Told::new(result)
            },
            Err(panic) => Told::new(Err(Failed::for_good(Panicked::new(&*panic)))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Run<I>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Iterator, F> fmt::Debug for Each<I, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Each")
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}
