//! `e2e`: builds the real components, runs the demo and the benchmark, and supervises what they
//! and the tests start.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use beskar7_e2e::process::supervisor::{Supervise, Supervised};
use beskar7_e2e::tools::progress::Progress;
use beskar7_e2e::tools::{Python, Tool, Tools, progress, schemas};
use beskar7_e2e::{bench, demo};
use clap::{Args, Parser, Subcommand};

/// A real control plane on this machine, for the tests and the demo of Beskar7.
#[derive(Debug, Parser)]
#[command(name = "e2e", version)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Build etcd, Kubernetes and Cluster API, install what tests the Redfish parts, and print where all that is.
    Tools(ToolsArgs),
    /// Start a control plane with Cluster API and Beskar7, until Ctrl-C.
    Demo(demo::Options),
    /// Measure what the manager costs, beside what it may cost.
    Bench(bench::Options),
    /// Measure what it costs when very many machines read their configuration at once.
    BenchConfigurations(bench::configurations::Options),
    /// Run a program that must not outlive the caller.
    #[command(hide = true)]
    Supervise(Supervise),
    /// Become a program that must not outlive its supervisor.
    #[command(hide = true)]
    Supervised(Supervised),
}

#[derive(Debug, Args)]
struct ToolsArgs {
    /// Print the directories alone, as PATH wants them.
    #[arg(long)]
    print_path: bool,
    #[command(subcommand)]
    verb: Option<ToolsVerb>,
}

#[derive(Debug, Subcommand)]
enum ToolsVerb {
    /// Build one of them and print its path.
    Path {
        /// Which one.
        tool: Tool,
    },
    /// Install the Python programs that the Redfish parts are tried against, and print where.
    Python,
}

#[expect(clippy::print_stderr, reason = "the last word to the person, or to the log, that started this")]
fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Verb::Tools(args) => tools(&args).and_then(|text| print(&text)),
        Verb::Demo(options) => demo::run(&options),
        Verb::Bench(options) => bench::run(&options).and_then(|text| print(&text)),
        Verb::BenchConfigurations(options) => {
            bench::configurations::run(&options).and_then(|text| print(&text))
        }
        Verb::Supervise(order) => order.run(),
        Verb::Supervised(order) => order.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn tools(args: &ToolsArgs) -> Result<String> {
    let mut progress = progress::on_stderr();
    match &args.verb {
        Some(ToolsVerb::Path { tool }) => {
            let tools = Tools::ensure_only(&[*tool], &mut *progress)?;
            Ok(format!("{}\n", tools.path(*tool)?.display()))
        }
        Some(ToolsVerb::Python) => Ok(format!("{}\n", Python::ensure(&mut *progress)?.directory().display())),
        None => all_tools(args.print_path, &mut *progress),
    }
}

fn all_tools(print_path: bool, progress: &mut dyn Progress) -> Result<String> {
    let tools = Tools::ensure(progress)?;
    if print_path {
        let mut directories: Vec<_> = tools.iter().filter_map(|(_, path)| path.parent()).collect();
        directories.sort();
        directories.dedup();
        let joined = std::env::join_paths(directories).context("joining the directories")?;
        return Ok(format!("{}\n", joined.display()));
    }
    let python = Python::ensure(progress)?;
    let schemas = schemas::ensure(progress)?;
    let mut lines = String::new();
    for (tool, path) in tools.iter() {
        lines.push_str(&format!("{:<24} {:<8} {}\n", tool.file_name(), tools.version(tool)?, path.display()));
    }
    for (what, path) in [("python programs", python.directory()), ("redfish schemas", schemas.as_path())] {
        lines.push_str(&format!("{what:<33} {}\n", path.display()));
    }
    Ok(lines)
}

fn print(text: &str) -> Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("writing the answer")
}
