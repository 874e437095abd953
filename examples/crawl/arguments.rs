use clap::Parser;

/// Crawls a small web of its own on loopback, as fast as each of its hosts allows, and says what each
/// of them saw.
#[derive(Debug, Parser)]
#[command(name = "crawl")]
pub(crate) struct Arguments {
    /// How many hosts there are.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) hosts: u32,

    /// How many pages each host has.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pages: u32,

    /// How many requests per second the slowest host allows.
    #[arg(long, value_name = "RATE", default_value_t = 2.0, value_parser = rate)]
    pub(crate) slowest: f64,

    /// How many requests per second the fastest host allows.
    #[arg(long, value_name = "RATE", default_value_t = 20.0, value_parser = rate)]
    pub(crate) fastest: f64,

    /// Prints JSON rather than a table.
    #[arg(long)]
    pub(crate) json: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().map_err(|_| "not a number".to_owned())?;
    let known = 0.1..=1_000.0;
    if !known.contains(&rate) {
        return Err("a rate is between 0.1 and 1000 requests per second".to_owned());
    }
    Ok(rate)
}
