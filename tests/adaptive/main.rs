//! The governor and the prober as layers: what they do to requests, and what the limit does.

mod attack;
mod cancelled;
mod clauses;
mod dropped;
mod ground;
mod hints;
mod history;
#[path = "../support/loopback.rs"]
mod loopback;
mod plants;
mod seas;
mod settings;
mod shadow;
mod stacked;
mod steering;
#[path = "../support/strict.rs"]
mod strict;
#[path = "../support/mod.rs"]
mod support;
mod tape;

/// Runs the block once with each of the two layers: its type, and the name that its refusals give.
macro_rules! each_layer {
    ($layer:ident, $name:ident => $block:block) => {{
        {
            use tidegate::GovernorLayer as $layer;
            let $name = "governor";
            $block
        }
        {
            use tidegate::ProberLayer as $layer;
            let $name = "prober";
            $block
        }
    }};
}
pub(crate) use each_layer;

/// Runs the block once with each of the two layers for HTTP: what makes it, with probes that do not
/// depend on the time of day, and its name.
macro_rules! each_law {
    ($new:ident, $name:ident => $block:block) => {{
        {
            let ($new, $name) = ($crate::ground::governor, "governor");
            $block
        }
        {
            let ($new, $name) = ($crate::ground::prober, "prober");
            $block
        }
    }};
    ($new:ident => $block:block) => {
        $crate::each_law!($new, _name => $block)
    };
}
pub(crate) use each_law;
