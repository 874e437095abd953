//! How many events a second: `cargo bench -p tidegate-sim`.

use std::time::Instant;

use tidegate_sim::{laws, open_set, run};

const SEEDS: u64 = 5;

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures real time, and nothing else here reads it"
)]
fn main() {
    for (id, law) in [
        ("b1", "fixed:72"),
        ("b1", "prober"),
        ("d1", "fixed:50"),
        ("i3", "prober"),
        ("l1", "prober"),
    ] {
        let open = open_set();
        let scenario = open.iter().find(|scenario| scenario.id == id);
        let (Some(scenario), Ok(maker)) = (scenario, laws::by_name(law)) else {
            continue;
        };
        let start = Instant::now();
        let events: u64 = (1..=SEEDS)
            .map(|seed| run(scenario, seed, &*maker).events)
            .sum();
        let seconds = start.elapsed().as_secs_f64();
        let millions = events as f64 / seconds / 1e6;
        println!("{id:<4} {law:<10} {events:>9} events  {millions:>6.1} million/s");
    }
}
