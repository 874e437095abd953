use std::fmt;

use crate::figures::Figures;
use crate::load;
use crate::run::Run;

/// By how much a run's goodput may be off, in parts of the simulator's.
const GOODPUT: f64 = 0.10;

/// By how much its waste may be off.
const WASTE: f64 = 0.02;

/// A run beside the simulator, as a row of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) run: Run,
    pub(crate) measured: Figures,
    pub(crate) simulated: Figures,
}

impl Row {
    pub(crate) const HEAD: &str = "\
| upstream | law | client | run | goodput | simulated | | waste | simulated | | load |
|---|---|---|---|---|---|---|---|---|---|---|
";

    pub(crate) fn agrees(&self) -> bool {
        let (goodput, waste) = self.off();
        goodput.abs() <= GOODPUT && waste.abs() <= WASTE
    }

    fn off(&self) -> (f64, f64) {
        let goodput = self.measured.goodput / self.simulated.goodput - 1.0;
        (goodput, self.measured.waste - self.simulated.waste)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            run,
            measured,
            simulated,
        } = self;
        let Run {
            plant, law, client, ..
        } = run;
        let (goodput, waste) = self.off();
        write!(f, "| {plant:?} | {law:?} | {client:?} | {} ", run.seed)?;
        write!(
            f,
            "| {:.0}/s | {:.0}/s | {:+.1} % ",
            measured.goodput,
            simulated.goodput,
            100.0 * goodput
        )?;
        write!(
            f,
            "| {:.1} % | {:.1} % | {:+.1} points ",
            100.0 * measured.waste,
            100.0 * simulated.waste,
            100.0 * waste
        )?;
        match load::average() {
            Some(load) => write!(f, "| {load:.1} |"),
            None => write!(f, "| |"),
        }
    }
}
