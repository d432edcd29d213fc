//! What a process uses, as Linux tells it, and what machine this is.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The kernel counts processor time in hundredths of a second on every architecture that Rust knows.
const TICK: Duration = Duration::from_millis(10);

/// The lock file that this program was built from.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// The memory of a process that is in use now, in bytes.
pub fn resident(pid: u32) -> Result<u64> {
    memory(pid, "VmRSS")
}

/// The most memory that a process has ever used at once, in bytes.
pub fn most_resident(pid: u32) -> Result<u64> {
    memory(pid, "VmHWM")
}

/// From now on, the most memory that a process has used at once is what it used at once from now on.
pub fn forget_most_resident(pid: u32) -> Result<()> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").with_context(|| format!("can't write {path}"))
}

/// How many files and connections a process has open.
pub fn open_files(pid: u32) -> Result<usize> {
    let path = format!("/proc/{pid}/fd");
    Ok(fs::read_dir(&path).with_context(|| format!("can't read {path}"))?.count())
}

fn memory(pid: u32, name: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("can't read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kibibytes.with_context(|| format!("{path} has no {name}"))?.saturating_mul(1024))
}

/// The processor time that a process has used.
pub fn processor_time(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("can't read {path}"))?;
    // The name, in parentheses, may hold anything; what follows it are numbers: the state, ten others, user, system.
    let (_, numbers) = stat.rsplit_once(')').context("stat has no name")?;
    let ticks = numbers.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
    let ticks = ticks.collect::<Result<Vec<u32>, _>>().context("stat has no times")?;
    Ok(TICK.saturating_mul(ticks.iter().sum()))
}

/// A connection needs a file descriptor.
pub fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    // Where it can't be raised, a request fails and says so.
    setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }).ok();
}

/// The machine, who shares its cores, and the versions of crates, in a few lines of text.
pub fn machine(who: &str, crates: &[&str]) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("an unnamed processor", |(_, name)| name);
    let load = read("/proc/loadavg").split_whitespace().next().unwrap_or("unknown").to_owned();
    let kernel = read("/proc/sys/kernel/osrelease");
    let versions: Vec<String> = crates.iter().map(|name| format!("{name} {}", version(name))).collect();
    format!(
        "{cores} cores ({model}) for {who} together, Linux {}, load {load} at the end.\n\
         {}; built with optimisations: {}.\n",
        kernel.trim(),
        versions.join(", "),
        if cfg!(debug_assertions) { "no" } else { "yes" },
    )
}

fn version(name: &str) -> &'static str {
    let mut lines = LOCK.lines().skip_while(|line| *line != format!("name = \"{name}\""));
    let line = lines.nth(1).unwrap_or_default();
    line.trim_start_matches("version = ").trim_matches('"')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_measured() {
        let me = std::process::id();
        assert!(resident(me).unwrap() > 100_000);
        assert!(most_resident(me).unwrap() > 100_000);
        processor_time(me).unwrap();
        assert!(open_files(me).unwrap() > 2);
    }

    #[test]
    fn what_was_used_before_can_be_forgotten() {
        let me = std::process::id();
        let much = vec![1_u8; 200_000_000];
        assert!(most_resident(me).unwrap() > 200_000_000, "{}", much.len());
        drop(much);
        forget_most_resident(me).unwrap();
        assert!(most_resident(me).unwrap() < 200_000_000);
    }

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert_eq!(version("beskar7-redfish"), env!("CARGO_PKG_VERSION"));
        assert!(version("reqwest").starts_with("0."), "{}", version("reqwest"));
    }
}
