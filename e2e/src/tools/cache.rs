//! Where built things are kept, and the lock that keeps two processes from
//! building the same.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::catalogue::Module;
use super::progress::{Progress, clock};

/// The cache of this crate: `BESKAR7_CACHE`, or `beskar7` where the user keeps
/// caches (`XDG_CACHE_HOME`, `~/.cache`).
pub fn home() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let chosen = variable("BESKAR7_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|path| path.join("beskar7")))
        .or_else(|| variable("HOME").map(|path| path.join(".cache/beskar7")));
    let chosen = chosen.context("no place for a cache: set BESKAR7_CACHE to a directory")?;
    std::path::absolute(chosen).context("the place of the cache")
}

/// Where the components are, a folder per module and version.
pub fn root() -> Result<PathBuf> {
    Ok(home()?.join("tools"))
}

pub(super) fn module_directory(module: &Module) -> Result<PathBuf> {
    Ok(root()?.join(module.key()?))
}

/// Holds the right to build until it is dropped, or its process ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for its turn, and says so.
    pub(super) fn take(progress: &mut dyn Progress) -> Result<Self> {
        let root = root()?;
        create(&root)?;
        let path = root.join(".lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("opening {}", path.display()))?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {
                    progress
                        .now(&format!("waiting for another process that builds the tools, {}", clock(begin)));
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("locking {}", path.display()));
                }
            }
        }
    }
}

pub(super) fn create(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))
}
