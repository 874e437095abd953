use clap::Parser;

/// Crawls a small web of its own on loopback, politely, and says what each host saw.
#[derive(Debug, Parser)]
#[command(name = "crawl")]
pub(crate) struct Arguments {
    /// How many sites there are.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) sites: u32,

    /// How many pages each site has.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pages: u32,

    /// How long after a request to a host the next one may be sent there, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) delay: u64,

    /// How many requests to a host may be out at once.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,

    /// Prints JSON rather than a table.
    #[arg(long)]
    pub(crate) json: bool,
}
