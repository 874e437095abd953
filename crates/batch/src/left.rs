use std::fmt;

/// What a run did not get to the end of. Nothing of it was recorded as done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Those that were begun, ascending: they failed and were to be tried again, were under way when the
    /// run was dropped, or their results were not taken.
    pub begun: Vec<usize>,
    /// None from this index on was begun.
    pub from: usize,
    /// How many those are, if the input tells.
    pub fresh: Option<usize>,
}

impl Left {
    pub(crate) fn new(
        begun: impl Iterator<Item = usize>,
        from: usize,
        fresh: Option<usize>,
    ) -> Self {
        let mut begun: Vec<_> = begun.collect();
        begun.sort_unstable();
        Self { begun, from, fresh }
    }

    /// Whether every request is over.
    pub(crate) fn is_nothing(&self) -> bool {
        self.count() == Some(0)
    }

    /// How many are left altogether, if the input tells.
    pub fn count(&self) -> Option<usize> {
        self.fresh
            .map(|fresh| fresh.saturating_add(self.begun.len()))
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            Some(count) => write!(f, "{count} left"),
            None => write!(
                f,
                "left: {} begun, and all from {}",
                self.begun.len(),
                self.from
            ),
        }
    }
}

/// How many an iterator or a stream has still to give, if it tells.
pub(crate) fn exact((least, most): (usize, Option<usize>)) -> Option<usize> {
    most.filter(|most| *most == least)
}
