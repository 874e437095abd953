use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// As many at once as there are cores, on threads where they hold up nobody: for the part of a request's
/// work that is bound by them, such as parsing what came.
///
/// A limit belongs at the bottleneck. Where work like this follows the response, the limit of what is in
/// flight is not it: the runtime's own threads would be, which then answer nobody. What waits here is held
/// by its [batch](crate::Batch), which begins no more than its window meanwhile. A clone shares the cores.
///
/// ```
/// use tidegate_batch::Cores;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let cores = Cores::new();
/// let length = cores.run(|| "a page".split(' ').count()).await;
/// assert_eq!(length, 2);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cores(Arc<Semaphore>);

impl Cores {
    /// As many as this process may use.
    pub fn new() -> Self {
        Self::of(available_parallelism().map_or(1, usize::from))
    }

    /// As many as that.
    ///
    /// # Panics
    ///
    /// If it is 0.
    #[track_caller]
    pub fn of(cores: usize) -> Self {
        assert!(cores > 0, "there is at least 1 core");
        Self(Arc::new(Semaphore::new(cores.min(Semaphore::MAX_PERMITS))))
    }

    /// Does this work when it is its turn: first come, first served. Dropped before its turn it is not
    /// done; dropped later it goes on, and keeps its core meanwhile.
    ///
    /// # Panics
    ///
    /// If the work does, and outside of a tokio runtime.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let core = Arc::clone(&self.0).acquire_owned().await;
        let worked = spawn_blocking(move || {
            let worked = work();
            drop(core);
            worked
        });
        match worked.await.map_err(JoinError::try_into_panic) {
            Ok(worked) => worked,
            Err(Ok(panic)) => resume_unwind(panic),
            // The runtime is shutting down, and will not poll this again.
            Err(Err(_)) => pending().await,
        }
    }
}

impl Default for Cores {
    fn default() -> Self {
        Self::new()
    }
}
