use std::ops::Deref;
use std::time::Duration;

use tidegate_admission::{Charge, Costs, Door};
use tidegate_core::{Refused, Steer};

use crate::Acquire;

/// Watches and moves a rate while it runs, and paces what is not a [`Service`].
///
/// It is a [`Door`] without a limit: everything that can be read or moved there can be here. A clone
/// is the same rate.
///
/// ```
/// use tidegate_core::{Units, per_second};
/// use tidegate_rate::RateLayer;
///
/// let rate = RateLayer::per_second(100.0).burst(20).handle();
/// assert!(rate.acquire_blocking(20, 1.s()));
/// assert!(!rate.acquire_blocking(20, 100.ms())); // they are there in 200 ms
///
/// rate.set_pace(Some(per_second(1_000.0).burst(50)));
/// assert_eq!(rate.pace().unwrap().bucket(), 50);
/// ```
///
/// [`Service`]: tower_service::Service
#[derive(Clone, Debug)]
pub struct RateHandle(Door);

impl RateHandle {
    pub(crate) fn new(door: Door) -> Self {
        Self(door)
    }

    /// `n` tokens, when it is its turn; of several quotas `n` in each.
    ///
    /// # Errors
    ///
    /// If it may not wait, waited too long, or the rate is closed.
    pub fn acquire(&self, n: u32) -> Acquire {
        Acquire::new(self.0.acquire(n))
    }

    /// So many tokens in each quota, in the order in which they were added: all or none, when it is
    /// its turn. What they turn out to have been is for [`correct`](Door::correct).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_each(&self, costs: &[u32]) -> Acquire<Charge> {
        Acquire::new(self.0.acquire_each(Costs::new(costs)))
    }

    /// `n` tokens now, or none.
    ///
    /// # Errors
    ///
    /// If they are not there, or the rate is closed.
    #[inline]
    pub fn try_acquire(&self, n: u32) -> Result<(), Refused> {
        self.0.try_charge(n).map(drop)
    }

    /// `n` tokens for a thread: it parks until it is its turn, at most for `timeout`. If they cannot
    /// be there in time, it says so at once. Not for use in a task: it blocks the thread.
    ///
    /// An executor over a pool of threads that starts no job above the rate:
    ///
    /// ```
    /// use std::sync::{Arc, Mutex, mpsc};
    /// use std::thread;
    ///
    /// use tidegate_core::Units;
    /// use tidegate_rate::{RateHandle, RateLayer};
    ///
    /// type Job = Box<dyn FnOnce() + Send>;
    ///
    /// struct Pool(mpsc::Sender<Job>, Vec<thread::JoinHandle<()>>);
    ///
    /// impl Pool {
    ///     fn new(threads: usize, rate: RateHandle) -> Self {
    ///         let (jobs, queue) = mpsc::channel::<Job>();
    ///         let queue = Arc::new(Mutex::new(queue));
    ///         let work = || {
    ///             let (queue, rate) = (Arc::clone(&queue), rate.clone());
    ///             thread::spawn(move || loop {
    ///                 let Ok(job) = queue.lock().unwrap().recv() else { break };
    ///                 if rate.acquire_blocking(1, 30.s()) {
    ///                     job();
    ///                 }
    ///             })
    ///         };
    ///         Self(jobs, (0..threads).map(|_| work()).collect())
    ///     }
    ///
    ///     fn execute(&self, job: impl FnOnce() + Send + 'static) {
    ///         self.0.send(Box::new(job)).expect("the threads are there");
    ///     }
    ///
    ///     fn join(self) {
    ///         drop(self.0);
    ///         self.1.into_iter().for_each(|thread| thread.join().expect("no job panics"));
    ///     }
    /// }
    ///
    /// let pool = Pool::new(4, RateLayer::per_second(1_000.0).burst(5).handle());
    /// let (done, count) = mpsc::channel();
    /// for job in 0..20 {
    ///     let done = done.clone();
    ///     pool.execute(move || done.send(job).unwrap());
    /// }
    /// pool.join();
    /// assert_eq!(count.try_iter().count(), 20);
    /// ```
    pub fn acquire_blocking(&self, n: u32, timeout: Duration) -> bool {
        self.0.acquire_blocking(n, Some(timeout)).is_ok()
    }
}

impl Deref for RateHandle {
    type Target = Door;

    fn deref(&self) -> &Door {
        &self.0
    }
}

/// So it is a [`Steer`], where there is no limit and none can be set.
impl AsRef<dyn Steer> for RateHandle {
    fn as_ref(&self) -> &(dyn Steer + 'static) {
        &self.0
    }
}
