use serde::Serialize;
use tidegate_sim::Metrics;

/// One run, as it is printed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) law: String,
    pub(crate) seed: u64,
    #[serde(flatten)]
    pub(crate) metrics: Metrics,
    pub(crate) events: u64,
    pub(crate) cut: bool,
}

/// All runs of one law.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Total {
    /// `"all"`.
    pub(crate) id: &'static str,
    pub(crate) law: String,
    /// Geometric mean over scenarios, each its mean over seeds.
    pub(crate) goodput: f64,
    /// Mean over scenarios; so is every other without a word.
    pub(crate) mean_goodput: f64,
    pub(crate) worst_goodput: f64,
    pub(crate) waste: f64,
    pub(crate) max_waste: f64,
    /// Geometric mean.
    pub(crate) latency: f64,
    pub(crate) max_latency: f64,
    pub(crate) jain: f64,
    pub(crate) cv: f64,
    /// Of those that reached it.
    pub(crate) ramp: Option<f64>,
    /// Of those that reached it.
    pub(crate) recover: Option<f64>,
    /// Geometric mean over scenarios.
    pub(crate) score: f64,
    pub(crate) scenarios: usize,
}

impl Total {
    /// Of the rows of one law on some scenarios; those of one scenario stand together.
    pub(crate) fn of(law: &str, rows: &[Row], counts: impl Fn(&str) -> bool) -> Self {
        let ours = |row: &&Row| row.law == law && counts(&row.id);
        let rows: Vec<&Row> = rows.iter().filter(ours).collect();
        let plants: Vec<_> = rows.chunk_by(|a, b| a.id == b.id).collect();
        let each = |value: fn(&Metrics) -> f64| -> Vec<f64> {
            let plant = |rows: &&[&Row]| mean(rows.iter().map(|row| value(&row.metrics)));
            plants.iter().map(plant).collect()
        };
        let some = |value: fn(&Metrics) -> Option<f64>| {
            let reached: Vec<f64> = rows.iter().filter_map(|row| value(&row.metrics)).collect();
            (!reached.is_empty()).then(|| mean(reached.iter().copied()))
        };
        let average = |value| mean(each(value).into_iter());
        let goodput = each(|m| m.goodput);
        let waste = each(|m| m.waste);
        let latency = each(|m| m.latency);
        Self {
            id: "all",
            law: law.to_owned(),
            goodput: geometric(&goodput),
            mean_goodput: mean(goodput.iter().copied()),
            worst_goodput: goodput.iter().copied().fold(f64::INFINITY, f64::min),
            waste: mean(waste.iter().copied()),
            max_waste: waste.iter().copied().fold(0.0, f64::max),
            latency: geometric(&latency),
            max_latency: latency.iter().copied().fold(0.0, f64::max),
            jain: average(|m| m.jain),
            cv: average(|m| m.cv),
            ramp: some(|m| m.ramp),
            recover: some(|m| m.recover),
            score: geometric(&each(|m| m.score)),
            scenarios: plants.len(),
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

fn geometric(values: &[f64]) -> f64 {
    mean(values.iter().map(|value| value.ln())).exp()
}
