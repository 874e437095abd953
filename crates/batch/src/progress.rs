use std::time::Duration;

use crate::moment::Moment;

/// Is told how a run stands: at its start, at most ten times a second, and at its end.
///
/// A closure `|moment: &Moment|` is one. It is called by the run itself, and should be quick: until it
/// returns nothing more is begun. If it panics, the run ends with its panic.
pub trait Progress {
    /// How it stands.
    fn show(&mut self, moment: &Moment);
}

impl<F: FnMut(&Moment)> Progress for F {
    fn show(&mut self, moment: &Moment) {
        self(moment);
    }
}

/// How often progress is shown, and the window looks for a limit that was moved by hand.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// Who is told, if anybody.
#[derive(Default)]
pub(crate) struct Shown(Option<Box<dyn Progress + Send>>);

impl Shown {
    pub(crate) fn to(progress: impl Progress + Send + 'static) -> Self {
        Self(Some(Box::new(progress)))
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn show(&mut self, moment: &Moment) {
        if let Some(progress) = &mut self.0 {
            progress.show(moment);
        }
    }
}
