use std::ops::Range;

/// Gives each request its index, and knows which of them were done by an earlier run.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Of the next request.
    next: usize,
    /// Ascending, apart from each other, and none of them empty.
    done: Vec<Range<usize>>,
    /// How many ranges of `done` lie behind `next`.
    passed: usize,
}

impl Numbers {
    /// From the indices that are done, in any order, also more than once.
    pub(crate) fn new(mut indices: Vec<usize>) -> Self {
        indices.sort_unstable();
        let mut done: Vec<Range<usize>> = Vec::new();
        for index in indices {
            match done.last_mut() {
                Some(last) if index < last.end => {}
                Some(last) if index == last.end => last.end += 1,
                _ => done.push(index..index + 1),
            }
        }
        Self {
            next: 0,
            done,
            passed: 0,
        }
    }

    /// The index of the next request; `None` if that is done already.
    pub(crate) fn number(&mut self) -> Option<usize> {
        let index = self.next;
        self.next += 1;
        while self
            .done
            .get(self.passed)
            .is_some_and(|done| done.end <= index)
        {
            self.passed += 1;
        }
        let done = self.done.get(self.passed);
        (!done.is_some_and(|done| done.contains(&index))).then_some(index)
    }

    /// Which request comes next.
    pub(crate) fn next(&self) -> usize {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_passed_over_and_counted() {
        let mut numbers = Numbers::new(vec![7, 2, 3, 3, 0, 100]);
        let fresh: Vec<_> = (0..10).filter_map(|_| numbers.number()).collect();
        assert_eq!(fresh, [1, 4, 5, 6, 8, 9]);
        assert_eq!(numbers.next(), 10);
    }

    #[test]
    fn a_run_of_indices_is_one_range() {
        let numbers = Numbers::new((0..1_000).rev().collect());
        assert_eq!(numbers.done.len(), 1);
    }
}
