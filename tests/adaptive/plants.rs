//! The layers in process beside the simulator: the upstreams of `examples/wire`, in virtual time.

use tidegate::Units;
use tidegate_sim::{Scenario, laws};
use tidegate_testkit::{Exponential, Upstream, UpstreamBuilder};
use tokio::runtime::Builder;
use tower::Layer;

use crate::each_law;
use crate::ground::{Route, crowd};
use crate::history::History;

/// In milliseconds, half of it each way: the timers of the test count whole ones.
const ROUND_TRIP: u64 = 2;

/// Successes per second, and the share of overloads.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    goodput: f64,
    waste: f64,
}

impl FromIterator<(f64, f64)> for Figures {
    /// The mean.
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(runs: I) -> Self {
        let runs: Vec<_> = runs.into_iter().collect();
        let count = runs.len() as f64;
        Self {
            goodput: runs.iter().map(|run| run.0).sum::<f64>() / count,
            waste: runs.iter().map(|run| run.1).sum::<f64>() / count,
        }
    }
}

/// 20 s of each seed are within 10 % of the simulator's goodput and 2 points of its waste.
fn assert_as_simulated(scenario: &str, upstream: fn() -> UpstreamBuilder, seeds: u64) {
    let mut scenario = Scenario::from_toml(scenario).unwrap();
    scenario.rtt = ROUND_TRIP.ms();
    each_law!(new, name => {
        let law = laws::by_name(name).unwrap();
        let simulated: Figures = (1..=10)
            .map(|seed| {
                let record = tidegate_sim::run(&scenario, seed, &law);
                (record.goodput(), record.waste())
            })
            .collect();
        let run = |seed| {
            let mut runtime = Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let upstream = upstream().seed(seed).service_time(Exponential(20.ms()));
                let upstream = upstream.start_in_process();
                let layer = new();
                let history = History::of(&layer.handle());
                let stack = layer.layer(Route::to(&upstream, ROUND_TRIP.ms()));
                crowd(128, &stack, 20.s()).await;
                (history.goodput(0.0, 20.0), history.waste())
            })
        };
        let seen: Figures = (1..=seeds).map(run).collect();
        let off = (seen.goodput / simulated.goodput - 1.0).abs();
        assert!(off <= 0.10, "{name}: {seen:?}, simulated {simulated:?}");
        let off = (seen.waste - simulated.waste).abs();
        assert!(off <= 0.02, "{name}: {seen:?}, simulated {simulated:?}");
    });
}

#[test]
fn workers_that_refuse_are_used_as_in_the_simulator() {
    let scenario = include_str!("../../examples/wire/workers.toml");
    assert_as_simulated(scenario, || Upstream::workers(16).queue(16), 1);
}

/// A run here depends much on the first second: one is up to 12 % off the mean of many.
#[test]
fn a_rate_is_used_as_in_the_simulator() {
    let scenario = include_str!("../../examples/wire/rate.toml");
    let upstream = || Upstream::unlimited().rate(200.0, 20).retry_after();
    assert_as_simulated(scenario, upstream, 10);
}

#[test]
fn workers_that_only_slow_down_are_used_as_in_the_simulator() {
    let scenario = include_str!("../../examples/wire/slow.toml");
    assert_as_simulated(scenario, || Upstream::workers(16), 1);
}

/// At the end of the start the limit falls to a third while all is full. What was let in before and
/// goes out after it is refused too, and says nothing about the new limit.
#[test]
fn a_cut_is_not_repeated_for_requests_that_were_let_in_before_it() {
    each_law!(new => {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let upstream = Upstream::workers(16).queue(16).seed(11);
            let upstream = upstream.service_time(Exponential(20.ms())).start_in_process();
            let layer = new();
            let history = History::of(&layer.handle());
            let stack = layer.layer(Route::to(&upstream, ROUND_TRIP.ms()));
            crowd(96, &stack, 5.s()).await;
            let goodput = history.goodput(1.0, 5.0);
            assert!(goodput > 720.0, "{goodput}");
        });
    });
}
