//! `bench-redfish`: what the Redfish client and the simulator cost, beside what they may cost.
//!
//! The simulator runs as its own program, so that its processor time and memory are told apart from the client's. A bar
//! that is missed is printed as such and is no error: a machine that is busy with something else must not fail a build.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod fleet;
mod hung;
mod memory;
mod ratio;
mod requests;

use std::path::PathBuf;

use anyhow::{Context, Result};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage;
use clap::Parser;

/// What the Redfish client and the simulator cost, beside what they may cost.
#[derive(Parser)]
struct Args {
    /// The simulator's program
    #[arg(long)]
    simulator: PathBuf,

    /// Where the table is written, too
    #[arg(long)]
    out: Option<PathBuf>,

    /// How many simulated BMCs are identified
    #[arg(long, default_value_t = 1000)]
    bmcs: usize,

    /// How many the simulator serves when its memory is measured
    #[arg(long, default_value_t = 10_000)]
    most_bmcs: usize,

    /// How often each comparison is repeated; its two sides take turns
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        anyhow::bail!("a TLS provider is installed already");
    }
    usage::raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let table = runtime.block_on(measure(&args))?;
    let crates = ["beskar7-redfish", "reqwest", "hyper", "rustls", "tokio"];
    let text = format!("{}\n{table}", usage::machine("client and simulator", &crates));
    println!("{text}");
    if let Some(path) = &args.out {
        std::fs::write(path, &text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(())
}

async fn measure(args: &Args) -> Result<Table> {
    let mut table = Table::default();
    requests::measure(&args.simulator, &mut table).await.context("counting requests")?;
    for comparison in ratio::COMPARISONS {
        ratio::measure(args, comparison, &mut table).await.context("comparing with bare requests")?;
    }
    hung::measure(args, &mut table).await.context("with hung BMCs")?;
    memory::measure(args, &mut table).await.context("the simulator's memory")?;
    Ok(table)
}
