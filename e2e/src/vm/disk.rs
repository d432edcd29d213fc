//! The disks of a machine: files, byte by byte.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    path: PathBuf,
    serial: String,
    is_read_only: bool,
}

impl Disk {
    /// One with an image on it. It is not written to, so that several machines may have it.
    #[must_use]
    pub fn with(image: PathBuf) -> Self {
        Self { path: image, serial: "with-an-image".to_owned(), is_read_only: true }
    }

    /// An empty one of so many bytes, which takes no room before something is written to it. It says this as its serial
    /// number, which has 20 letters at most.
    pub fn empty(path: &Path, bytes: u64, serial: &str) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("making {}", path.display()))?;
        file.set_len(bytes).with_context(|| format!("the size of {}", path.display()))?;
        Ok(Self { path: path.to_owned(), serial: serial.to_owned(), is_read_only: false })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says as its serial number.
    #[must_use]
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// What QEMU is told of it: what it holds, and the device. With a turn, firmware tries it then.
    pub(super) fn arguments(&self, number: usize, turn: Option<usize>) -> [(&'static str, String); 2] {
        let file = format!("file.driver=file,file.filename={}", self.path.display());
        // What is discarded reads as zeros, and takes no room any more.
        let access = if self.is_read_only { "read-only=on" } else { "discard=unmap" };
        let turn = turn.map(|turn| format!(",bootindex={turn}")).unwrap_or_default();
        let device =
            format!("scsi-hd,bus=scsi.0,id=disk{number},drive=content{number},serial={}", self.serial);
        [
            ("-blockdev", format!("driver=raw,node-name=content{number},{access},{file}")),
            ("-device", format!("{device}{turn}")),
        ]
    }
}
