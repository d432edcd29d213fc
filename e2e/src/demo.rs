//! TBD

/// TBD
#[derive(Debug, clap::Args)]
pub struct Options {}
/// TBD
pub fn run(_: &Options) -> anyhow::Result<()> { Ok(()) }
