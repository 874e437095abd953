use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::heat::Heat;

/// The few of any number that have a name of their own, and who may still become one of them.
///
/// The first half of the places go to those that come first, so that where there are few all have a
/// name at once. The others have to be hot: who has a name keeps it, since what a recorder has
/// registered stays registered.
///
/// To find one takes neither a lock nor an allocation.
pub(crate) struct Top<T> {
    most: AtomicUsize,
    named: AtomicUsize,
    first: OnceLock<Box<Node<T>>>,
    adding: Mutex<()>,
    heat: Heat,
}

struct Node<T> {
    it: T,
    next: OnceLock<Box<Node<T>>>,
}

/// As many as a graph can show.
const MOST: usize = 20;

/// So many are as good as none: each would be compared.
const BOUND: usize = 1_000;

impl<T> Top<T> {
    /// How many may have a name at most.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most.min(BOUND), Relaxed);
    }

    /// One that has a name.
    #[inline]
    pub(crate) fn find(&self, is: impl Fn(&T) -> bool) -> Option<&T> {
        self.iter().find(|it| is(it))
    }

    /// One that has a name, or gets it since it is among the first.
    pub(crate) fn enter(&self, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Option<&T> {
        let early = self.named.load(Relaxed) < self.most.load(Relaxed).div_ceil(2);
        self.find(&is)
            .or_else(|| early.then(|| self.add(&is, make)).flatten())
    }

    /// The same when it comes once more, which may make it hot.
    pub(crate) fn meet(
        &self,
        hash: u64,
        is: impl Fn(&T) -> bool,
        make: impl Fn() -> T,
    ) -> Option<&T> {
        self.enter(&is, &make)
            .or_else(|| self.is_hot(hash).then(|| self.add(&is, make)).flatten())
    }

    /// Where there is still a place: once in a hundredth of an equal part.
    fn is_hot(&self, hash: u64) -> bool {
        let most = self.most.load(Relaxed);
        self.named.load(Relaxed) < most && self.heat.is_hot(hash, 100 * most as u64)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let nodes = std::iter::successors(self.first.get(), |node| node.next.get());
        nodes.map(|node| &node.it)
    }

    #[cold]
    fn add(&self, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Option<&T> {
        let _alone = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(known) = self.find(is) {
            return Some(known);
        }
        if self.named.load(Relaxed) >= self.most.load(Relaxed) {
            return None;
        }
        let mut place = &self.first;
        while let Some(node) = place.get() {
            place = &node.next;
        }
        let node = place.get_or_init(|| {
            Box::new(Node {
                it: make(),
                next: OnceLock::new(),
            })
        });
        self.named.fetch_add(1, Relaxed);
        Some(&node.it)
    }
}

impl<T> Default for Top<T> {
    fn default() -> Self {
        Self {
            most: AtomicUsize::new(MOST),
            named: AtomicUsize::new(0),
            first: OnceLock::new(),
            adding: Mutex::new(()),
            heat: Heat::default(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Top<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(top: &Top<u64>, name: u64) -> bool {
        let is = |known: &u64| *known == name;
        top.meet(name << 32 | name, is, || name).is_some()
    }

    #[test]
    fn the_first_have_a_name_at_once_and_the_others_when_they_are_hot() {
        let top = Top::default();
        top.set_most(4);
        assert!(meet(&top, 1) && meet(&top, 2) && meet(&top, 1));
        assert!((0..99).all(|_| !meet(&top, 3)));
        assert!(meet(&top, 3) && meet(&top, 3));
        assert!((0..100).any(|_| meet(&top, 4)));
        assert!((0..1_000).all(|_| !meet(&top, 5)));
        assert_eq!(top.iter().collect::<Vec<_>>(), [&1, &2, &3, &4]);
    }

    #[test]
    fn those_that_come_at_once_do_not_get_more_places_than_there_are() {
        // Who makes one gives the others time to come for the last place.
        let slow = |name| {
            (0..100).for_each(|_| std::thread::yield_now());
            name
        };
        for _ in 0..20 {
            let top = Top::default();
            top.set_most(2);
            let all = std::sync::Barrier::new(8);
            std::thread::scope(|scope| {
                for name in 0..8 {
                    let (top, all) = (&top, &all);
                    scope.spawn(move || {
                        all.wait();
                        top.enter(|known| *known == name, || slow(name));
                    });
                }
            });
            assert!(top.iter().count() <= 2);
        }
    }

    #[test]
    fn with_no_place_nobody_has_a_name() {
        let top = Top::default();
        top.set_most(0);
        assert!((0..1_000).all(|_| !meet(&top, 1)));
    }
}
