use indicatif::{ProgressBar, ProgressStyle};

use crate::moment::Moment;
use crate::progress::Progress;

/// Progress as a bar on standard error, if that is a terminal: how many are done, of how many, the limit
/// if it is [known](crate::Batch::steer), how many are under way, how many tries failed.
///
/// It stays when the run has ended.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    has_length: bool,
}

const BAR: &str = "{prefix}{wide_bar} {pos}/{len}  {msg}  {eta} to go";
const WITHOUT_LENGTH: &str = "{prefix}{spinner} {pos}  {msg}  {elapsed}";

impl Bar {
    /// An empty bar.
    pub fn new() -> Self {
        Self::on(ProgressBar::no_length())
    }

    /// What stands before it, such as the name of what is run.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        self.bar.set_prefix(format!("{prefix} "));
        self
    }

    fn on(bar: ProgressBar) -> Self {
        let has_length = false;
        Self {
            bar: bar.with_style(style(WITHOUT_LENGTH)),
            has_length,
        }
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bar {
    fn show(&mut self, moment: &Moment) {
        if let Some(requests) = moment.requests.filter(|_| !self.has_length) {
            self.bar.set_style(style(BAR));
            self.bar.set_length(requests as u64);
            self.has_length = true;
        }
        self.bar.set_position(moment.done() as u64);
        self.bar.set_message(moment.to_string());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.abandon();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_tells_how_many_of_how_many() {
        let shared = ProgressBar::hidden();
        let mut bar = Bar::on(shared.clone()).prefix("gate");
        let mut moment = Moment {
            requests: Some(20),
            ..Moment::default()
        };
        moment.counts.succeeded = 3;
        moment.counts.skipped = 4;
        bar.show(&moment);
        drop(bar);
        assert_eq!((shared.position(), shared.length()), (7, Some(20)));
        assert_eq!(shared.message(), "0 under way, 0 failed tries");
        assert_eq!(shared.prefix(), "gate ");
        assert!(shared.is_finished());
    }

    #[test]
    fn without_a_length_it_has_none() {
        let mut bar = Bar::new();
        bar.show(&Moment::default());
        assert_eq!(bar.bar.length(), None);
    }
}
