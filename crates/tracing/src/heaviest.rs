use std::sync::Arc;

/// The keys that come most often, in bounded memory: Space-Saving (Metwally, Agrawal and El Abbadi,
/// "Efficient computation of frequent and top-k elements in data streams", 2005).
///
/// A key that is not counted takes the place, and the count, of the one that has come least; so each that
/// comes more often than once in [`PLACES`] is there, and its count is too high by no more than it took
/// over.
#[derive(Debug, Default)]
pub(crate) struct Heaviest {
    counted: Vec<Counted>,
    total: u64,
}

#[derive(Debug)]
struct Counted {
    key: Arc<str>,
    count: u64,
    /// Of those, how many may be of others.
    taken_over: u64,
}

const PLACES: usize = 32;

impl Counted {
    fn certain(&self) -> u64 {
        self.count - self.taken_over
    }
}

impl Heaviest {
    pub(crate) fn add(&mut self, key: &Arc<str>) {
        self.total += 1;
        if let Some(counted) = self.counted.iter_mut().find(|counted| counted.key == *key) {
            counted.count += 1;
            return;
        }
        let mut new = Counted {
            key: Arc::clone(key),
            count: 1,
            taken_over: 0,
        };
        if self.counted.len() < PLACES {
            self.counted.push(new);
        } else if let Some(least) = self.counted.iter_mut().min_by_key(|counted| counted.count) {
            new.taken_over = least.count;
            new.count += least.count;
            *least = new;
        }
    }

    /// The first `most` of them, and how often each came at least; only those that surely came more
    /// often than once in [`PLACES`].
    pub(crate) fn first(&self, most: usize) -> Vec<(&str, u64)> {
        let heavy = |counted: &&Counted| counted.certain() * PLACES as u64 > self.total;
        let mut heavy: Vec<_> = self.counted.iter().filter(heavy).collect();
        heavy.sort_by_key(|counted| (std::cmp::Reverse(counted.certain()), &counted.key));
        let named = heavy.into_iter().take(most);
        named
            .map(|counted| (&*counted.key, counted.certain()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(heaviest: &mut Heaviest, key: &str) {
        heaviest.add(&Arc::from(key));
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut heaviest = Heaviest::default();
        for turn in 0..60 {
            add(&mut heaviest, "a");
            if turn % 2 == 0 {
                add(&mut heaviest, "b");
            }
            if turn % 3 == 0 {
                add(&mut heaviest, "c");
            }
        }
        assert_eq!(heaviest.first(2), [("a", 60), ("b", 30)]);
    }

    #[test]
    fn three_hot_keys_among_a_million_are_found_and_never_counted_too_high() {
        let mut heaviest = Heaviest::default();
        for turn in 0..1_000_000 {
            add(&mut heaviest, &turn.to_string());
            for (key, each) in [("hot", 5), ("hotter", 4), ("hottest", 3)] {
                if turn % each == 0 {
                    add(&mut heaviest, key);
                }
            }
        }
        let first = heaviest.first(5);
        let keys: Vec<_> = first.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["hottest", "hotter", "hot"]);
        let came = [333_334, 250_000, 200_000];
        for ((key, count), came) in first.iter().zip(came) {
            assert!((came * 9 / 10..=came).contains(count), "{key} {count}");
        }
    }

    #[test]
    fn where_none_comes_more_often_than_others_none_is_named() {
        let mut heaviest = Heaviest::default();
        for turn in 0..10_000 {
            add(&mut heaviest, &(turn % 1_000).to_string());
        }
        assert_eq!(heaviest.first(3), []);
    }
}
