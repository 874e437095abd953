use std::iter::successors;
use std::sync::{Arc, OnceLock};

use crate::Observer;

/// Who hears what happens at a layer, in the order in which they came. Nobody of them goes before it.
///
/// Looking for them takes no lock and counts no reference: where there is nobody, one load.
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, Instant};
/// use tidegate_core::{Observer, Observers};
///
/// #[derive(Debug)]
/// struct Waits;
///
/// impl Observer for Waits {
///     fn on_wait(&self, _now: Instant, waited: Duration) {
///         println!("waited {waited:?}");
///     }
/// }
///
/// let observers = Observers::default();
/// observers.add(Arc::new(Waits));
/// # #[expect(clippy::disallowed_methods)]
/// # let now = Instant::now();
/// for observer in observers.iter() {
///     observer.on_wait(now, Duration::from_millis(5));
/// }
/// ```
#[derive(Debug, Default)]
pub struct Observers(OnceLock<Box<Node>>);

#[derive(Debug)]
struct Node {
    observer: Arc<dyn Observer>,
    next: OnceLock<Box<Self>>,
}

impl Observers {
    /// Has it hear from now on, after those that are there.
    pub fn add(&self, observer: Arc<dyn Observer>) {
        let next = OnceLock::new();
        let mut node = Box::new(Node { observer, next });
        let mut place = &self.0;
        while let Err(back) = place.set(node) {
            node = back;
            if let Some(there) = place.get() {
                place = &there.next;
            }
        }
    }

    /// Whether there is anybody.
    #[inline]
    pub fn any(&self) -> bool {
        self.0.get().is_some()
    }

    /// All of them.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &dyn Observer> {
        let nodes = successors(self.0.get(), |node| node.next.get());
        nodes.map(|node| &*node.observer)
    }
}

/// One by one: there may be more of them than calls fit on a stack.
impl Drop for Observers {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Writes down its number.
    #[derive(Debug)]
    struct Numbered(usize, Arc<Mutex<Vec<usize>>>);

    impl Observer for Numbered {
        fn on_wait(&self, _now: Instant, _waited: Duration) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "any moment")]
    fn tell(observers: &Observers) {
        let now = Instant::now();
        let waited = Duration::ZERO;
        observers
            .iter()
            .for_each(|observer| observer.on_wait(now, waited));
    }

    #[test]
    fn they_hear_in_the_order_in_which_they_came() {
        let (observers, heard) = (Observers::default(), Arc::default());
        assert!(!observers.any());
        for number in 0..3 {
            observers.add(Arc::new(Numbered(number, Arc::clone(&heard))));
        }
        assert!(observers.any());
        tell(&observers);
        assert_eq!(*heard.lock().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn of_many_that_come_at_once_each_hears_once() {
        let (observers, heard) = (Observers::default(), Arc::default());
        thread::scope(|scope| {
            for number in 0..8 {
                let (observers, heard) = (&observers, Arc::clone(&heard));
                scope.spawn(move || observers.add(Arc::new(Numbered(number, heard))));
            }
        });
        tell(&observers);
        let mut heard = heard.lock().unwrap().clone();
        heard.sort_unstable();
        assert_eq!(heard, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn they_are_freed_with_it_however_many_they_are() {
        let (observers, heard) = (Observers::default(), Arc::<Mutex<Vec<usize>>>::default());
        // Each in constant time: behind the last.
        let mut place = &observers.0;
        for number in 0..200_000 {
            let observer = Arc::new(Numbered(number, Arc::clone(&heard)));
            let next = OnceLock::new();
            place = &place.get_or_init(|| Box::new(Node { observer, next })).next;
        }
        drop(observers);
        assert_eq!(Arc::strong_count(&heard), 1);
    }
}
