//! The initramfs: busybox, modules of the kernel, and scripts.
//!
//! The same inputs give the same bytes, and no root is needed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use beskar7_ramdisk::cpio::{Archive, Kind};

/// What it is made of.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// busybox, which needs no libraries.
    pub busybox: &'a Path,
    /// The folder of the kernel's modules.
    pub modules: &'a Path,
    /// The names of those that are needed; their dependencies come along. One that the kernel has built in is none.
    pub wanted: &'a [&'a str],
    /// Scripts by their paths; `init` is the first process. It loads what `/modules/order` lists, in that order.
    pub scripts: &'a [(&'a str, &'a str)],
}

/// Makes it.
///
/// # Errors
/// Something that it is made of can't be read.
pub fn make(contents: &Contents<'_>) -> Result<Vec<u8>> {
    let mut archive = Archive::new(Vec::new());
    for directory in ["bin", "dev", "modules", "proc", "sys"] {
        archive.add(directory, Kind::Directory)?;
    }
    for (path, script) in contents.scripts {
        archive.add(path, Kind::File { executable: true, content: script.as_bytes() })?;
    }
    archive.add("bin/busybox", Kind::File { executable: true, content: &read(contents.busybox)? })?;
    archive.add("bin/sh", Kind::Link("busybox"))?;
    let dependencies = read(&contents.modules.join("modules.dep"))?;
    let mut order = String::new();
    for path in in_order(&String::from_utf8_lossy(&dependencies), contents.wanted) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let module = read(&contents.modules.join(&path))?;
        archive.add(&format!("modules/{name}"), Kind::File { executable: false, content: &module })?;
        order.push_str(name);
        order.push('\n');
    }
    archive.add("modules/order", Kind::File { executable: false, content: order.as_bytes() })?;
    Ok(archive.end()?)
}

/// The paths of the modules, each behind those that it needs. One that is not listed is built in.
fn in_order(dependencies: &str, wanted: &[&str]) -> Vec<String> {
    let lines = dependencies.lines().filter_map(|line| line.split_once(':'));
    let needs: BTreeMap<&str, Vec<&str>> =
        lines.map(|(module, needs)| (module, needs.split_whitespace().collect())).collect();
    let mut ordered = Vec::new();
    for name in wanted {
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

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_behind_what_it_needs() {
        let dependencies = "k/isofs.ko: k/cdrom.ko\nk/cdrom.ko:\nk/sr_mod.ko: k/scsi_mod.ko k/cdrom.ko\nk/scsi_mod.ko:\nk/other.ko:\n";
        let ordered = in_order(dependencies, &["virtio_pci", "sr_mod", "isofs"]);
        assert_eq!(ordered, ["k/scsi_mod.ko", "k/cdrom.ko", "k/sr_mod.ko", "k/isofs.ko"]);
    }
}
