//! Building a component: one `go build` each, watched through its log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::cache::{self, Lock};
use super::catalogue::{self, Tool};
use super::go::Go;
use super::progress::{Progress, clock};

/// Listing packages, which downloads modules the first time.
const LIST_LIMIT: Duration = Duration::from_secs(30 * 60);

/// How often the log of a build is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Builds what is missing; another process may have done so meanwhile.
pub(super) fn all(missing: &[Tool], progress: &mut dyn Progress) -> Result<BTreeMap<Tool, PathBuf>> {
    let _lock = Lock::take(progress)?;
    let mut built = BTreeMap::new();
    if missing.len() > 1 {
        let count = missing.len();
        progress.note(&format!(
            "{count} components are to be built: a quarter of an hour on two cores, the first time"
        ));
    }
    for (position, tool) in missing.iter().enumerate() {
        let path = match catalogue::existing(*tool)? {
            Some(path) => path,
            None => {
                let count = format!("[{}/{}]", position + 1, missing.len());
                one(*tool, &count, progress).with_context(|| format!("building {tool}"))?
            }
        };
        built.insert(*tool, path);
    }
    Ok(built)
}

fn one(tool: Tool, count: &str, progress: &mut dyn Progress) -> Result<PathBuf> {
    let module = tool.module();
    let go = Go::find(module, progress)?;
    let directory = cache::module_directory(module)?;
    cache::create(&directory)?;
    let begin = Instant::now();
    let title = format!("{count} {tool} {}", tool.version()?);
    progress.note(&format!("{title}: building from source, once"));

    let log = directory.join(format!("{tool}.build.log"));
    let partial = directory.join(format!(".{tool}.partial"));
    // What a killed build left; the lock says that nobody else is at it.
    for old in [&log, &partial] {
        std::fs::remove_file(old).ok();
    }
    let total = packages(&go, tool, &title, begin, progress)?;

    let build = go
        .command(module, "build")
        .args(["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags"])
        .arg(module.ldflags()?)
        .arg("-o")
        .arg(&partial)
        .arg(tool.package())
        .spawn(&log)?;
    let exit = loop {
        if let Some(exit) = build.wait_blocking(LOOK_EVERY) {
            break exit;
        }
        progress.now(&format!("{title}: {}, {}", clock(begin), Stage::read(&log).describe(total)));
    };
    if !exit.is_success() {
        return Err(build.failure(&format!("go build ended with {exit}")));
    }
    let path = directory.join(tool.file_name());
    std::fs::rename(&partial, &path).with_context(|| format!("keeping {}", path.display()))?;
    progress.note(&format!("{title}: built in {}", clock(begin)));
    Ok(path)
}

/// How many packages the program consists of. Downloads the modules.
fn packages(go: &Go, tool: Tool, title: &str, begin: Instant, progress: &mut dyn Progress) -> Result<usize> {
    let list = go.command(tool.module(), "list").args(["-mod=readonly", "-deps"]).arg(tool.package());
    let output = list.run_blocking_with(LIST_LIMIT, &mut |stderr| {
        let stage = Stage::read(stderr);
        progress.now(&format!("{title}: {}, {}", clock(begin), stage.describe_downloads()));
    })?;
    Ok(output.success()?.lines().count())
}

/// How far a build is, by what Go has written so far.
#[derive(Debug, PartialEq, Eq)]
struct Stage {
    downloaded: usize,
    compiled: usize,
}

impl Stage {
    fn read(log: &Path) -> Self {
        Self::parse(&std::fs::read_to_string(log).unwrap_or_default())
    }

    fn parse(log: &str) -> Self {
        let (mut downloaded, mut compiled) = (0, 0);
        for line in log.lines() {
            if line.starts_with("go: downloading ") {
                downloaded += 1;
            } else if !line.is_empty() && !line.contains(' ') {
                compiled += 1;
            }
        }
        Self { downloaded, compiled }
    }

    fn describe_downloads(&self) -> String {
        match self.downloaded {
            0 => "reading its packages".to_owned(),
            count => format!("{count} modules downloaded"),
        }
    }

    /// Go does not say which packages its own cache already holds: they are
    /// never listed, so the count may stop short of the total.
    fn describe(&self, total: usize) -> String {
        format!("{} of at most {total} packages compiled", self.compiled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_of_a_build_is_read_from_its_log() {
        let log = "go: downloading k8s.io/api v0.36.3\ninternal/abi\nk8s.io/api/core/v1\n# k8s.io/x\nx.go:3:1: syntax error\n";
        let stage = Stage::parse(log);
        assert_eq!(stage, Stage { downloaded: 1, compiled: 2 });
        assert_eq!(stage.describe(1200), "2 of at most 1200 packages compiled");
        assert_eq!(stage.describe_downloads(), "1 modules downloaded");
        assert_eq!(Stage::parse("").describe_downloads(), "reading its packages");
    }
}
