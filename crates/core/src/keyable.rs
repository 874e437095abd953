use std::time::Instant;

/// What can be kept for each key and dropped when its key has gone quiet: a layer whose state is its
/// own.
///
/// Several layers as one, `(outer, inner)`, are as fresh as the least fresh of them.
pub trait Keyable {
    /// What watches and moves it.
    type Handle;

    /// Watches and moves it.
    fn handle(&self) -> Self::Handle;

    /// What would be lost if a new one took its place at `now`. Called under a lock: it is short, and
    /// calls nothing that could come back. If it panics, that counts as in use.
    fn freshness(&self, now: Instant) -> Freshness;

    /// Whether nothing would be lost if a new one took its place at `now`: its bucket is full, and
    /// nothing waits, is in flight, is paused or was learned.
    fn is_fresh(&self, now: Instant) -> bool {
        self.freshness(now) == Freshness::Fresh
    }
}

/// What would be lost if a new one took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Freshness {
    /// Nothing.
    Fresh,
    /// What it has learned, and nothing else: after a long time that is worth no more than a new
    /// start.
    Learned,
    /// A debt, a pause, a place in the queue or in flight, or what an operator has set.
    InUse,
}

macro_rules! keyable_together {
    ($($layer:ident)*) => {
        impl<$($layer: Keyable),*> Keyable for ($($layer,)*) {
            type Handle = ($($layer::Handle,)*);

            fn handle(&self) -> Self::Handle {
                #[expect(non_snake_case, reason = "one name for a type and its value")]
                let ($($layer,)*) = self;
                ($($layer.handle(),)*)
            }

            fn freshness(&self, now: Instant) -> Freshness {
                #[expect(non_snake_case, reason = "one name for a type and its value")]
                let ($($layer,)*) = self;
                Freshness::Fresh$(.max($layer.freshness(now)))*
            }
        }
    };
}

keyable_together!(A B);
keyable_together!(A B C);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Snapshot;

    struct Fixed(Freshness);

    impl Keyable for Fixed {
        type Handle = ();

        fn handle(&self) {}

        fn freshness(&self, _now: Instant) -> Freshness {
            self.0
        }
    }

    #[expect(clippy::disallowed_methods, reason = "an origin to count from")]
    fn origin() -> Instant {
        Instant::now()
    }

    #[test]
    fn several_are_as_fresh_as_the_least_fresh() {
        let [fresh, learned, in_use] =
            [Freshness::Fresh, Freshness::Learned, Freshness::InUse].map(Fixed);
        let both = (fresh, learned);
        assert_eq!(both.freshness(origin()), Freshness::Learned);
        assert!(!both.is_fresh(origin()) && both.0.is_fresh(origin()));
        let all = (both.0, both.1, in_use);
        assert_eq!(all.freshness(origin()), Freshness::InUse);
    }

    #[test]
    fn whatever_is_owed_or_held_is_in_use_and_what_is_over_is_not() {
        let now = origin();
        let second = Duration::from_secs(1);
        let quiet = Snapshot::new(10);
        let is = |change: &dyn Fn(&mut Snapshot), freshness| {
            let mut snapshot = quiet;
            change(&mut snapshot);
            assert_eq!(snapshot.freshness(now), freshness, "{snapshot:?}");
        };
        is(&|_| (), Freshness::Fresh);
        is(&|snapshot| snapshot.learns = true, Freshness::Learned);
        is(&|snapshot| snapshot.in_flight = 1, Freshness::InUse);
        is(&|snapshot| snapshot.waiting = 1, Freshness::InUse);
        is(&|snapshot| snapshot.frozen = true, Freshness::InUse);
        is(&|snapshot| snapshot.shadow = true, Freshness::InUse);
        is(&|snapshot| snapshot.closed = true, Freshness::InUse);
        for (at, freshness) in [(now + second, Freshness::InUse), (now, Freshness::Fresh)] {
            is(&|snapshot| snapshot.pause_until = Some(at), freshness);
            is(&|snapshot| snapshot.full_at = Some(at), freshness);
        }
    }
}
