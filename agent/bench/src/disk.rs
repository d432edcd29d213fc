//! The disk that is written to: a loop device over a file where that is allowed, else the file itself.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// A disk. It is gone with it.
pub struct Target {
    file: NamedTempFile,
    device: Option<PathBuf>,
}

impl Target {
    /// One of so many bytes, whose file is here.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn new(place: &Path, bytes: u64) -> Result<Self> {
        let file = NamedTempFile::new_in(place).with_context(|| format!("in {}", place.display()))?;
        file.as_file().set_len(bytes)?;
        let device = attach(file.path());
        Ok(Self { file, device })
    }

    /// What is written to.
    pub fn path(&self) -> &Path {
        self.device.as_deref().unwrap_or(self.file.path())
    }

    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        if self.device.is_some() { "a loop device" } else { "a file" }
    }

    /// Writes over all of it: nothing of an earlier round is taken for a later one's.
    ///
    /// # Errors
    /// It can't be written.
    pub fn blank(&self) -> Result<()> {
        let mut device = File::options().write(true).open(self.path())?;
        let length = self.file.as_file().metadata()?.len();
        std::io::copy(&mut std::io::repeat(0).take(length), &mut device)?;
        Ok(device.sync_all()?)
    }

    /// What is on it.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn content(&self) -> Result<File> {
        Ok(File::open(self.path())?)
    }
}

/// With direct writes to the file, where its file system can: as past a page cache as a disk is.
fn attach(file: &Path) -> Option<PathBuf> {
    let attached = |more: &[&str]| {
        let output = Command::new("losetup").args(["--find", "--show"]).args(more).arg(file).output().ok()?;
        let device = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| PathBuf::from(device.trim()))
    };
    attached(&["--direct-io=on"]).or_else(|| attached(&[]))
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            // Nobody can be told; `losetup --list` shows it.
            let _left = Command::new("losetup").arg("--detach").arg(device).status();
        }
    }
}
