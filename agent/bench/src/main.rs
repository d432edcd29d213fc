//! `bench-agent`: what it costs to write an image to a disk, beside `curl | dd` with the same checksum.
//!
//! Each side of each round is a process of its own, this program started again. A bar that is missed is printed as such and
//! is no error: a machine that is busy with something else must not fail a build.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod disk;
mod image;
mod ours;
mod pipe;
mod rounds;

use std::path::PathBuf;

use anyhow::{Context, Result};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::{nginx, usage};
use clap::{Args, Parser, Subcommand};

/// What installing an image costs, beside what it may cost.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    side: Option<Side>,

    #[command(flatten)]
    bench: Bench,
}

/// One side of a round; the benchmark starts it by itself.
#[derive(Subcommand)]
enum Side {
    /// The agent's installation
    Install(Job),
    /// curl, tee, dd, and who computes the checksum
    Pipe {
        /// What is written, and where
        #[command(flatten)]
        job: Job,

        /// Who computes the checksum
        #[arg(long)]
        hash: pipe::Hash,
    },
}

/// What is written, and where.
#[derive(Args)]
pub struct Job {
    /// The image's URL
    #[arg(long)]
    url: url::Url,

    /// Its SHA-256
    #[arg(long)]
    digest: String,

    /// The disk
    #[arg(long)]
    disk: PathBuf,
}

/// What is measured.
#[derive(Args)]
pub struct Bench {
    /// Where the table is written, too
    #[arg(long)]
    out: Option<PathBuf>,

    /// Where the disk's file is, for the rounds that go to a real disk
    #[arg(long, default_value = ".")]
    place: PathBuf,

    /// How large the image is, in MiB; another one is four times as large
    #[arg(long, default_value_t = 512)]
    size: u64,

    /// How often each comparison is repeated; its sides take turns
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    match cli.side {
        Some(Side::Install(job)) => ours::run(&job),
        Some(Side::Pipe { job, hash }) => pipe::run(&job, hash),
        None => bench(&cli.bench),
    }
}

fn bench(args: &Bench) -> Result<()> {
    let Ok(version) = nginx::version() else {
        println!("skipped: bench-agent (nginx is not installed: apt-get install nginx-light)");
        return Ok(());
    };
    let mut table = Table::default();
    rounds::measure(args, &mut table)?;
    let machine = usage::machine("server and clients", &["beskar7-agent", "reqwest", "hyper", "ring"]);
    let text = format!("{machine}{version}\n{table}");
    println!("{text}");
    match &args.out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("can't write {}", path.display())),
        None => Ok(()),
    }
}
