//! Runs a test in a process that has a network of its own.
//!
//! A process can't have several networks at once without each thread saying which one it means. So the test's program
//! starts itself again for this one test.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Lab;
use super::installed::Installed;

/// By which the second process knows that it is the one.
const VARIABLE: &str = "BESKAR7_LAB_TEST";

/// Whatever may hang in there has a limit of its own; this one is for what has none.
const LIMIT: Duration = Duration::from_secs(1800);

/// Runs the body of a test in a laboratory. `module` is the test's `module_path!()`, `name` its function's name. Where
/// something is missing, it says that the test is skipped, and why.
pub fn alone(module: &str, name: &str, body: impl AsyncFnOnce(Lab) -> Result<()>) -> Result<()> {
    let is_inside = std::env::var(VARIABLE).is_ok_and(|test| test == name);
    match Installed::find() {
        Ok(installed) if is_inside => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(async { body(Lab::new(installed).await?).await })
        }
        Ok(installed) => run_again(&installed, module, name),
        Err(impossible) => {
            beskar7_skipped::skipped(name, impossible);
            Ok(())
        }
    }
}

#[allow(clippy::print_stderr, reason = "what the test has said is passed on")]
fn run_again(installed: &Installed, module: &str, name: &str) -> Result<()> {
    // libtest names a test by its path below the crate.
    let path = match module.split_once("::") {
        Some((_, inside)) => format!("{inside}::{name}"),
        None => name.to_owned(),
    };
    let program = std::env::current_exe().context("this program's own path")?;
    let command = installed.in_new_network(name).arg(program).args(["--exact", &path]);
    let command = command.args(["--include-ignored", "--nocapture", "--test-threads=1"]).env(VARIABLE, name);
    let output = command.run_blocking(LIMIT)?;
    let passed_on = output.stderr.clone();
    let said = output.success()?;
    eprint!("{passed_on}");
    beskar7_skipped::passed_on(&passed_on);
    // A name that is misspelt would run nothing, and nothing fails.
    ensure!(said.contains("1 passed"), "{path} did not run:\n{said}");
    Ok(())
}
