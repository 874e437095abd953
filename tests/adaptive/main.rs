//! The governor and the prober as layers: what they do to requests, and what the limit does.

mod ground;
mod history;
mod plants;
mod seas;
#[path = "../support/mod.rs"]
mod support;

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
