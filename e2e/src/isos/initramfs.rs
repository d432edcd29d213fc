//! The initramfs of all that is booted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use beskar7_specimen::initramfs::{self, Contents};

use super::installed::Installed;

const INIT: &str = include_str!("init.sh");
const LEASE: &str = include_str!("lease.sh");

/// What a guest needs beyond what is built into Debian's cloud kernel.
const MODULES: [&str; 6] = ["virtio_pci", "virtio_net", "virtio_scsi", "sd_mod", "sr_mod", "isofs"];

/// Writes the archive.
pub(super) fn make(installed: &Installed, to: &Path) -> Result<PathBuf> {
    let contents = Contents {
        busybox: &installed.busybox,
        modules: &installed.modules,
        wanted: &MODULES,
        scripts: &[("init", INIT), ("lease", LEASE)],
    };
    std::fs::write(to, initramfs::make(&contents)?).with_context(|| format!("writing {}", to.display()))?;
    Ok(to.to_owned())
}
