//! The `manager` program. What it does is in the library.

use std::process::ExitCode;

use anyhow::Context as _;
use beskar7_controllers::{causes::causes, exit::Exit, logging, options::Options, run};
use tikv_jemallocator::Jemalloc;

/// Gives back what a rush of work needed, as `.cargo/config.toml` tells it to; the one of glibc keeps it for good.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    logging::init(&options.logging)?;
    let runtime = tokio::runtime::Runtime::new().context("threads can't be started")?;
    let exit = runtime.block_on(run::run(&options)).unwrap_or_else(|error| {
        tracing::error!(error = causes(&error), "the manager can't go on");
        Exit::Failed
    });
    // Tasks that still hang somewhere do not keep the process.
    runtime.shutdown_background();
    Ok(exit.into())
}
