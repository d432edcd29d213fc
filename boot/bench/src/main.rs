//! `bench-boot`: what images from the boot server cost, beside what they may cost. What configurations cost takes an API
//! server, and is measured by `e2e bench-configurations`.
//!
//! Each server is a process of its own: ours is this program, started again as `bench-boot serve`. A bar that is missed is
//! printed as such and is no error: a machine that is busy with something else must not fail a build.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod cached;
mod client;
mod image;
mod nginx;
mod ranges;
mod serve;

use std::path::PathBuf;

use anyhow::{Context, Result};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage;
use clap::{Args, Parser, Subcommand};
use tikv_jemallocator::Jemalloc;

/// The manager's allocator: what is measured is what runs.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// What the boot server costs, beside what it may cost.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Command {
    /// One server of those that are compared; the benchmark starts it by itself
    Serve(serve::Serve),
}

/// What is measured.
#[derive(Args)]
struct Bench {
    /// Where the table is written, too
    #[arg(long)]
    out: Option<PathBuf>,

    /// How large the image is, in millions of bytes
    #[arg(long, default_value_t = 512)]
    size: u64,

    /// How often each comparison is repeated; its sides take turns
    #[arg(long, default_value_t = 15)]
    rounds: usize,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    usage::raise_file_limit();
    match cli.command {
        Some(Command::Serve(serve)) => serve::run(&serve),
        None => bench(&cli.bench),
    }
}

fn bench(args: &Bench) -> Result<()> {
    let mut table = Table::default();
    ranges::measure(args, &mut table).context("reading an image by range")?;
    cached::measure(&mut table).context("reading from a warm cache")?;
    let crates = ["beskar7-boot", "axum", "hyper", "reqwest", "tokio"];
    let text = format!("{}{}\n{table}", usage::machine("client and servers", &crates), nginx::version()?);
    println!("{text}");
    if let Some(path) = &args.out {
        std::fs::write(path, &text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(())
}
