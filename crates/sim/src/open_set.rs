use crate::scenario::Scenario;

macro_rules! files {
    ($($id:literal)*) => {
        [$(include_str!(concat!("../scenarios/", $id, ".toml"))),*]
    };
}

/// The texts of the open scenarios.
const OPEN: [&str; 35] = files![
    "a1" "a3" "b1" "b4" "c1" "c4" "c6" "d1" "d4"
    "e1" "f1" "f4" "g1" "g3" "g6" "h1" "h3" "h6"
    "i1" "i3" "j1" "j4" "k1" "k4" "l1" "l3" "t1"
    "t2" "t3" "t4" "t5" "t6" "t7" "t8" "t9"
];

/// The open scenarios: the plants that every law here was judged on.
///
/// Families: unlimited queues (a), bounded queues (b), rate limits (c), services that thrash (d),
/// abandoned work (e), random failures (f), steps (g), hard latencies (h), several clients (i), open
/// loads (j), batches (k), far optima (l), and harder ones of each (t).
///
/// ```
/// let open = tidegate_sim::open_set();
/// assert_eq!(open.len(), 35);
/// assert_eq!(open[0].id, "a1");
/// ```
///
/// # Panics
///
/// Never: the texts are part of this crate, and its tests read them.
pub fn open_set() -> Vec<Scenario> {
    let read = |text: &&str| Scenario::from_toml(text).expect("the open set is well formed");
    OPEN.iter().map(read).collect()
}
