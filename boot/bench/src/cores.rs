//! On which cores processes run.
//!
//! With one block at a time, client and server take turns, and what counts is how one wakes the other. Left to the system,
//! they share a core or do not, which makes a factor of five for any server: such a comparison would be of that.

use std::fs;

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where this process may run, before anything was changed.
pub fn all() -> Result<CpuSet> {
    Ok(sched_getaffinity(None)?)
}

/// The first of them alone.
pub fn first(all: &CpuSet) -> CpuSet {
    let mut one = CpuSet::new();
    let core = (0..CpuSet::MAX_CPU).find(|core| all.is_set(*core));
    one.set(core.unwrap_or_default());
    one
}

/// Keeps a process there, with all its threads; those that it starts later do as those that started them.
pub fn keep(pid: u32, cores: &CpuSet) -> Result<()> {
    let path = format!("/proc/{pid}/task");
    for thread in fs::read_dir(&path).with_context(|| format!("can't read {path}"))? {
        let id = thread?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        sched_setaffinity(id, cores)?;
    }
    Ok(())
}
