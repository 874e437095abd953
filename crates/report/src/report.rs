use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::{Change, Observer, Refused, Sample, Steer, text};

use crate::history::History;
use crate::picture::{self, Shape};
use crate::recorder::Recorder;
use crate::{page, table};

/// A bounded record of a run, and its views.
///
/// It counts from the first event on, and ends with the last one: it reads no clock. However long the
/// run, it takes less than 800 KB: when its 400 intervals are full, neighbours are merged and each is
/// twice as long from then on; of more than 512 changes those in a row of one kind become one, and
/// then those that matter least go, which the views say.
///
/// Latencies are those of successes, told apart to 3 %, from a microsecond to a minute; what is outside
/// counts as the nearest. A limit of a million or more is no limit. Refusals are counted by why, and not
/// by key.
///
/// A clone is the same report. When the last one is dropped, a layer that it was attached to still
/// writes to it, and frees it when it goes itself.
#[derive(Clone)]
pub struct Report {
    recorder: Arc<Recorder>,
    steer: Option<Arc<dyn Steer>>,
    title: Option<String>,
}

impl Report {
    /// Attached to nothing: whoever steps a law tells it what happens, since it is an [`Observer`].
    pub fn new() -> Self {
        Self {
            recorder: Arc::new(Recorder::new(History::default(), None)),
            steer: None,
            title: None,
        }
    }

    /// Hears what the layer of this handle hears and does, from now on, and looks how it stands
    /// whenever an event begins a new interval.
    ///
    /// With a law it hears every answer and every change. Of a gate or a rate without one it hears who
    /// had to wait and who was refused, and sees limit, pace, pause and how many are inside, but no
    /// answers: nobody tells it what they mean. While nothing is heard, [`look`](Self::look).
    pub fn attach(handle: &(impl Steer + Clone + 'static)) -> Self {
        let steer: Arc<dyn Steer> = Arc::new(handle.clone());
        let mut history = History::default();
        history.begin(&steer.snapshot());
        let recorder = Arc::new(Recorder::new(history, Some(Arc::downgrade(&steer))));
        steer.observe(Arc::clone(&recorder) as Arc<dyn Observer>);
        Self {
            recorder,
            steer: Some(steer),
            title: None,
        }
    }

    /// What the run is called in its views, such as the key that a stack is for. Default: nothing.
    ///
    /// Of a URL only the scheme, the host and the path are used: neither what comes after a `?` or a
    /// `#` nor what stands before an `@` is shown. At most 100 characters.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        let title = Some(text::name(title));
        Self { title, ..self }
    }

    /// Looks how what it is attached to stands: limit, in flight, waiting, pace, pause, setpoint.
    ///
    /// It looks by itself whenever something that it hears begins a new interval. Where little is
    /// heard, as at a gate with room for all or during a pause, whoever drives the run looks from time
    /// to time, such as 10 times a second. What it finds moved that nobody spoke of is written down as
    /// moved by hand, at that moment; with a law, a pace or a pause is when it looks again, since a law
    /// moves a door before it says so. Attached to nothing, it does nothing.
    pub fn look(&self, now: Instant) {
        self.recorder.look(now);
    }

    /// The run as a text of at most 100 columns: a summary, then one row for each stretch of time
    /// with its limit or pace, its answers, the share that failed, how many were refused, and each move
    /// with its reason. Where no answer is heard of, how many waited and how long at most.
    ///
    /// About 25 stretches of equal length. Moves of one kind in a row are one, with how many they are; a
    /// stretch with more than two such shows between which limits it swung, how often it moved, and the
    /// reason that mattered most.
    pub fn table(&self) -> String {
        table::table(&self.history(), self.title.as_deref())
    }

    /// The run as one SVG: limit and in flight, answers per second, the share that failed, latency,
    /// and, if there were any, waits, refusals and pauses, over time; the ten moves that matter most are numbered, with their
    /// reasons below. It adapts to a dark surrounding and loads nothing.
    pub fn svg(&self) -> String {
        let shape = Shape {
            width: 960,
            part: 100.0,
            alone: true,
        };
        picture::draw(&self.history(), self.title.as_deref(), shape).svg
    }

    /// The run as one page that needs nothing from elsewhere: what [`svg`](Self::svg) shows, with the
    /// numbers and the reasons of each moment where one points, in light and dark, on a screen or a
    /// phone.
    ///
    /// ```no_run
    /// # let report = tidegate_report::Report::new();
    /// std::fs::write("run.html", report.html())?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn html(&self) -> String {
        page::page(&self.history(), self.title.as_deref())
    }

    /// As it is now; the lock is held as long as the copy takes, which is less than a millisecond.
    fn history(&self) -> History {
        self.recorder.history().clone()
    }
}

impl Default for Report {
    fn default() -> Self {
        Self::new()
    }
}

/// For those who step a law themselves, and for a retry layer, of which it counts what is tried again and
/// what is given up. A report that is attached hears from its layer.
impl Observer for Report {
    fn on_sample(&self, now: Instant, sample: &Sample) {
        self.recorder.on_sample(now, sample);
    }

    fn on_change(&self, now: Instant, change: &Change) {
        self.recorder.on_change(now, change);
    }

    fn on_wait(&self, now: Instant, waited: Duration) {
        self.recorder.on_wait(now, waited);
    }

    fn on_refused(&self, now: Instant, refused: &Refused, waited: Duration) {
        self.recorder.on_refused(now, refused, waited);
    }

    fn on_retry(&self, now: Instant, attempt: u32, after: Duration) {
        self.recorder.on_retry(now, attempt, after);
    }

    fn on_gave_up(&self, now: Instant, why: &'static str, sent: u32) {
        self.recorder.on_gave_up(now, why, sent);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("attached", &self.steer.is_some())
            .finish_non_exhaustive()
    }
}
