//! The image of a disk: a partition that UEFI firmware starts from, with systemd-boot, a kernel and an initramfs.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use beskar7_volume::fat;
use beskar7_volume::plan::Entry;

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// Where its only partition begins.
pub const PARTITION: u64 = MIB;

/// What it is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// `sgdisk`, by which it gets its partition table.
    pub sgdisk: &'a Path,
    /// systemd-boot.
    pub loader: &'a Path,
    /// The kernel.
    pub kernel: &'a Path,
    /// The initramfs.
    pub initramfs: &'a [u8],
    /// The kernel's parameters.
    pub options: &'a str,
}

/// Writes it, and returns how many bytes its partition has.
///
/// # Errors
/// Something that it is made of can't be read, or it can't be written.
pub fn write(parts: &Parts<'_>, to: &Path) -> Result<u64> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("reading {}", path.display()));
    let entry = format!("title A system\nlinux /kernel\ninitrd /initramfs\noptions {}\n", parts.options);
    let files = [
        ("EFI/BOOT/BOOTX64.EFI", read(parts.loader)?),
        ("kernel", read(parts.kernel)?),
        ("initramfs", parts.initramfs.to_vec()),
        ("loader/loader.conf", b"timeout 0\ndefault system.conf\n".to_vec()),
        ("loader/entries/system.conf", entry.into_bytes()),
    ];
    let length = partition(&files, to).with_context(|| format!("writing {}", to.display()))?;
    let first = PARTITION / SECTOR;
    let table = Command::new(parts.sgdisk)
        .arg(format!("--new=1:{first}:{}", first + length / SECTOR - 1))
        .arg("--typecode=1:ef00")
        .arg(to)
        .output()
        .context("running sgdisk")?;
    if !table.status.success() {
        bail!("sgdisk: {}{}", String::from_utf8_lossy(&table.stdout), String::from_utf8_lossy(&table.stderr));
    }
    Ok(length)
}

fn partition(files: &[(&str, Vec<u8>)], to: &Path) -> Result<u64> {
    let entries: Vec<Entry<'_>> =
        files.iter().map(|(path, content)| Entry { path, length: content.len() as u64 }).collect();
    let plan = fat::plan(&entries)?;
    let length = plan.length().next_multiple_of(MIB);
    let mut image = File::create(to)?;
    // The table stands at the end as well.
    image.set_len(PARTITION + length + MIB)?;
    image.seek(SeekFrom::Start(PARTITION))?;
    plan.write(&mut image, |number, image| {
        let content = files.get(number).map_or(&[][..], |(_, content)| content);
        image.write_all(content).map(|()| content.len() as u64)
    })?;
    Ok(length)
}
