//! A simulated run of the prober, on a service whose capacity halves for a while: as text, picture
//! and page.
//!
//! ```console
//! $ cargo run -p tidegate-report --example simulated
//! ```

use std::time::Instant;
use std::{env, fs};

use tidegate_control::Prober;
use tidegate_core::{Change, Controller, Observer, Sample, Setting};
use tidegate_report::Report;
use tidegate_sim::{Scenario, run};

const SCENARIO: &str = r#"
id = "half"
rtt = "10ms"
duration = "60s"

[server]
kind = "fifo"
workers = 60
queue = 60
service = { exponential = "40ms" }
reject = 503

[load]
kind = "closed"

[[step]]
at = "20s"
capacity = 0.5

[[step]]
at = "40s"
capacity = 1
"#;

/// A law that a report listens to.
#[derive(Debug)]
struct Heard<L> {
    law: L,
    report: Report,
}

impl<L: Controller> Controller for Heard<L> {
    fn on_start(&mut self, now: Instant, in_flight: usize) {
        self.law.on_start(now, in_flight);
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        self.report.on_sample(now, sample);
        let change = self.law.on_sample(now, sample);
        change
            .iter()
            .for_each(|change| self.report.on_change(now, change));
        change
    }

    fn setting(&self) -> Setting {
        self.law.setting()
    }

    fn move_to(&mut self, now: Instant, limit: f64) {
        self.law.move_to(now, limit);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = Report::new().title("A service of 60 workers, of 30 from 20 s to 40 s");
    let scenario = Scenario::from_toml(SCENARIO)?;
    run(&scenario, 1, &|seat| {
        Box::new(Heard {
            law: Prober::new(seat.phase),
            report: report.clone(),
        })
    });
    print!("{}", report.table());
    let (svg, page) = (
        env::temp_dir().join("run.svg"),
        env::temp_dir().join("run.html"),
    );
    fs::write(&svg, report.svg())?;
    fs::write(&page, report.html())?;
    println!("see {} and {}", svg.display(), page.display());
    Ok(())
}
