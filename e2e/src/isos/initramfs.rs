//! The initramfs: busybox, the kernel's modules for virtio and CDs, and a shell script as its first process.
//!
//! The same inputs give the same bytes, and no root is needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use beskar7_ramdisk::cpio::{Archive, Kind};

use super::installed::Installed;

const INIT: &str = include_str!("init.sh");
const LEASE: &str = include_str!("lease.sh");

/// What a guest needs beyond what is built into Debian's cloud kernel; their dependencies come along.
const MODULES: [&str; 5] = ["virtio_pci", "virtio_net", "virtio_scsi", "sr_mod", "isofs"];

/// Writes the archive.
pub(super) fn make(installed: &Installed, to: &Path) -> Result<PathBuf> {
    let mut archive = Archive::new(Vec::new());
    for directory in ["bin", "dev", "modules", "proc", "sys"] {
        archive.add(directory, Kind::Directory)?;
    }
    archive.add("init", program(INIT.as_bytes()))?;
    archive.add("lease", program(LEASE.as_bytes()))?;
    archive.add("bin/busybox", program(&read(&installed.busybox)?))?;
    archive.add("bin/sh", Kind::Link("busybox"))?;
    let mut order = String::new();
    for path in in_order(&read_text(&installed.modules.join("modules.dep"))?) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let module = read(&installed.modules.join(&path))?;
        archive.add(&format!("modules/{name}"), Kind::File { executable: false, content: &module })?;
        order.push_str(name);
        order.push('\n');
    }
    archive.add("modules/order", Kind::File { executable: false, content: order.as_bytes() })?;
    std::fs::write(to, archive.end()?).with_context(|| format!("writing {}", to.display()))?;
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

fn program(content: &[u8]) -> Kind<'_> {
    Kind::File { executable: true, content }
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
}
