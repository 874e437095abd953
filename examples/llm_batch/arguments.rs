use clap::Parser;

/// Sends prompts to a language model of its own on loopback, as fast as its two limits allow.
#[derive(Debug, Parser)]
#[command(name = "llm_batch")]
pub(crate) struct Arguments {
    /// How many prompts there are.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) prompts: u32,

    /// Prints JSON rather than a few lines.
    #[arg(long)]
    pub(crate) json: bool,
}
