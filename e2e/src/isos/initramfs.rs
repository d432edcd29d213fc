//! The initramfs: busybox, the kernel's modules for virtio and CDs, and a shell script as its first process.
//!
//! It is a cpio archive in the "newc" format, which is simple enough to be written here: the same inputs give the
//! same bytes, and no root is needed for its device nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::installed::Installed;

const INIT: &str = include_str!("init.sh");
const LEASE: &str = include_str!("lease.sh");

/// What a guest needs beyond what is built into Debian's cloud kernel; their dependencies come along.
const MODULES: [&str; 5] = ["virtio_pci", "virtio_net", "virtio_scsi", "sr_mod", "isofs"];

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
const FILE: u32 = 0o100_644;

/// Writes the archive.
pub(super) fn make(installed: &Installed, to: &Path) -> Result<PathBuf> {
    let mut archive = Archive::default();
    for directory in ["bin", "dev", "modules", "proc", "sys"] {
        archive.add(directory, DIRECTORY, &[]);
    }
    archive.add("init", EXECUTABLE, INIT.as_bytes());
    archive.add("lease", EXECUTABLE, LEASE.as_bytes());
    archive.add("bin/busybox", EXECUTABLE, &read(&installed.busybox)?);
    archive.add("bin/sh", 0o120_777, b"busybox");
    let mut order = String::new();
    for path in in_order(&read_text(&installed.modules.join("modules.dep"))?) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        archive.add(&format!("modules/{name}"), FILE, &read(&installed.modules.join(&path))?);
        order.push_str(name);
        order.push('\n');
    }
    archive.add("modules/order", FILE, order.as_bytes());
    std::fs::write(to, archive.end()).with_context(|| format!("writing {}", to.display()))?;
    Ok(to.to_owned())
}

/// The paths of the modules, each behind those that it needs. One that is not listed is built in.
fn in_order(dependencies: &str) -> Vec<String> {
    let lines = dependencies.lines().filter_map(|line| line.split_once(':'));
    let needs: BTreeMap<&str, Vec<&str>> =
        lines.map(|(module, needs)| (module, needs.split_whitespace().collect())).collect();
    let mut ordered = Vec::new();
    for name in MODULES {
        let file = format!("/{name}.ko");
        if let Some(module) = needs.keys().find(|path| path.ends_with(&file)) {
            visit(module, &needs, &mut ordered);
        }
    }
    ordered
}

fn visit(module: &str, needs: &BTreeMap<&str, Vec<&str>>, ordered: &mut Vec<String>) {
    if ordered.iter().any(|known| known == module) {
        return;
    }
    for needed in needs.get(module).into_iter().flatten() {
        visit(needed, needs, ordered);
    }
    ordered.push(module.to_owned());
}

/// A cpio archive that grows.
#[derive(Debug, Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        let size = content.len();
        let name_size = name.len() + 1;
        // inode, mode, uid, gid, links, mtime, size, device (2), the node's device (2), name, checksum
        let inode = self.entries;
        let header = format!(
            "070701{inode:08x}{mode:08x}{0:08x}{0:08x}{links:08x}{0:08x}{size:08x}{0:08x}{0:08x}{0:08x}{0:08x}{name_size:08x}{0:08x}",
            0
        );
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_behind_what_it_needs() {
        let dependencies = "k/isofs.ko: k/cdrom.ko\nk/cdrom.ko:\nk/sr_mod.ko: k/scsi_mod.ko k/cdrom.ko\nk/scsi_mod.ko:\nk/other.ko:\n";
        assert_eq!(in_order(dependencies), ["k/scsi_mod.ko", "k/cdrom.ko", "k/sr_mod.ko", "k/isofs.ko"]);
    }

    #[test]
    fn an_archive_is_aligned_and_ends() {
        let mut archive = Archive::default();
        archive.add("a", FILE, b"12345");
        let bytes = archive.end();
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.starts_with(b"070701"));
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..117], b"12345");
        assert!(bytes.windows(10).any(|window| window == b"TRAILER!!!"));
    }
}
