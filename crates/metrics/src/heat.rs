use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Finds those that come most often among any number of names, by their hashes, in 64 KiB.
///
/// Each cell holds the majority of what falls into it: one vote for the name that is there, one against
/// it for each other (R. S. Boyer, J S. Moore, "MJRTY", 1991). A name has two cells, in case that one is
/// shared with another such name. Votes that two threads cast at once may be lost: they decide nothing
/// that has to be exact.
#[derive(Debug, Default)]
pub(crate) struct Heat {
    /// Upper half: whose cell it is; lower half: votes.
    cells: OnceLock<Box<[AtomicU64]>>,
    total: AtomicU64,
}

const CELLS: usize = 2 * ROW;
const ROW: usize = 1 << 12;

/// From so many votes on all are halved, so that what was long ago counts for less.
const MANY: u64 = 1 << 20;

/// Fewer votes than these are chance.
const FEW: u64 = 100;

impl Heat {
    /// One more of that name; whether it came at least a hundred times, and once among so many.
    pub(crate) fn is_hot(&self, hash: u64, among: u64) -> bool {
        let total = 1 + self.total.fetch_add(1, Relaxed);
        if total >= MANY {
            self.cool(total);
        }
        let enough = FEW.max(total / among.max(1));
        let (first, second) = (hash as usize, (hash >> 12) as usize);
        let cells = [first % ROW, ROW + second % ROW];
        let votes = cells.map(|cell| vote(&self.cells()[cell], hash >> 32));
        votes.iter().any(|votes| *votes >= enough)
    }

    fn cells(&self) -> &[AtomicU64] {
        let zero = || std::iter::repeat_with(AtomicU64::default);
        self.cells.get_or_init(|| zero().take(CELLS).collect())
    }

    #[cold]
    fn cool(&self, total: u64) {
        let half = self
            .total
            .compare_exchange(total, total / 2, Relaxed, Relaxed);
        if half.is_err() {
            return;
        }
        for cell in self.cells() {
            let (owner, votes) = (cell.load(Relaxed) >> 32, cell.load(Relaxed) as u32 / 2);
            cell.store(owner << 32 | u64::from(votes), Relaxed);
        }
    }
}

/// How many votes that name has then.
fn vote(cell: &AtomicU64, name: u64) -> u64 {
    let known = cell.load(Relaxed);
    let (owner, votes) = (known >> 32, known & u64::from(u32::MAX));
    let (owner, votes) = if owner == name {
        (name, votes + 1)
    } else if votes == 0 {
        (name, 1)
    } else {
        (owner, votes - 1)
    };
    cell.store(owner << 32 | votes, Relaxed);
    if owner == name { votes } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;

    /// The same in each run.
    type Hasher = BuildHasherDefault<DefaultHasher>;

    #[test]
    fn one_in_a_thousand_is_hot_and_nobody_of_a_million_others() {
        let (heat, hasher) = (Heat::default(), Hasher::new());
        let mut hot = Vec::new();
        for request in 0_u32..1_000_000 {
            let name = if request % 1_000 == 0 { 0 } else { 1 + request };
            if heat.is_hot(hasher.hash_one(name), 2_000) {
                hot.push(name);
            }
        }
        assert!(!hot.is_empty());
        assert!(hot.iter().all(|name| *name == 0), "{hot:?}");
    }

    #[test]
    fn what_was_hot_long_ago_is_forgotten() {
        let (heat, hasher) = (Heat::default(), Hasher::new());
        let hash = hasher.hash_one("old");
        for _ in 0..99 {
            assert!(!heat.is_hot(hash, 2_000));
        }
        for other in 0..MANY {
            let _ = heat.is_hot(hasher.hash_one(other), 2_000);
        }
        assert!(!heat.is_hot(hash, 2_000));
    }
}
