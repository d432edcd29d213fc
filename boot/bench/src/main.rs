//! `bench-boot`: what images from the boot server cost, beside what they may cost. What configurations cost takes an API
//! server, and is measured by `e2e bench-configurations`. What the network's own protocols cost, TFTP and DHCP, is measured
//! by `bench-boot network`.
//!
//! Each server is a process of its own: ours is this program, started again as `bench-boot serve`. A bar that is missed is
//! printed as such and is no error: a machine that is busy with something else must not fail a build.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod cached;
mod client;
mod cores;
mod dhcp;
mod dnsmasq;
mod image;
mod ranges;
mod scripts;
mod serve;
mod serve_network;
mod serve_scripts;
mod tftp;
mod tftp_client;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::{nginx, usage};
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
    /// The same, with scripts
    ServeScripts,
    /// The same, by TFTP
    ServeTftp(serve_network::ServeTftp),
    /// The same, by DHCP
    ServeDhcp(serve_network::ServeDhcp),
    /// Files by TFTP, beside dnsmasq, and thousands of machines that ask by DHCP
    Network(Network),
}

/// What is measured of TFTP and DHCP.
#[derive(Args)]
struct Network {
    /// Where the table is written, too
    #[arg(long)]
    out: Option<PathBuf>,

    /// How often each comparison is repeated; its sides take turns
    #[arg(long, default_value_t = 15)]
    rounds: usize,
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
        Some(Command::ServeScripts) => serve_scripts::run(),
        Some(Command::ServeTftp(serve)) => serve_network::tftp(&serve),
        Some(Command::ServeDhcp(serve)) => serve_network::dhcp(&serve),
        Some(Command::Network(args)) => network(&args),
        None => bench(&cli.bench),
    }
}

fn bench(args: &Bench) -> Result<()> {
    let mut table = Table::default();
    ranges::measure(args, &mut table).context("reading an image by range")?;
    cached::measure(&mut table).context("reading from a warm cache")?;
    scripts::measure(args.rounds, &mut table).context("asking for scripts")?;
    let crates = ["beskar7-boot", "axum", "hyper", "reqwest", "tokio"];
    let text = format!("{}{}\n{table}", usage::machine("client and servers", &crates), nginx::version()?);
    tell(&text, args.out.as_deref())
}

fn network(args: &Network) -> Result<()> {
    let mut table = Table::default();
    tftp::measure(args.rounds, &mut table).context("reading files by TFTP")?;
    dhcp::measure(args.rounds, &mut table).context("asking by DHCP")?;
    let machine = usage::machine("clients and servers", &["beskar7-boot", "tokio", "nix"]);
    tell(&format!("{machine}{}\n{table}", dnsmasq::version()?), args.out.as_deref())
}

fn tell(text: &str, out: Option<&Path>) -> Result<()> {
    println!("{text}");
    if let Some(path) = out {
        std::fs::write(path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(())
}
