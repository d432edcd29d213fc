//! systemd-boot, which reads only the file system that it was started from: everything is inside the FAT. With
//! entries, as mkosi and others make it; with a unified kernel image in `EFI/Linux`, as Talos has it since 1.10.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::Isos;
use super::super::loaders;
use super::super::tree::{Tree, fat};

const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";

pub(super) async fn make(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let settings = directory.join("loader.conf");
    std::fs::write(&settings, "timeout 1\ndefault image.conf\n")?;
    let entry = directory.join("image.conf");
    std::fs::write(
        &entry,
        format!("title   An image\nversion 1\nlinux   /image/linux\ninitrd  /image/initrd\noptions {line}\n"),
    )?;
    let initramfs = isos.initramfs().await?;
    let files = [
        (LOADER, installed.systemd_boot.as_path()),
        ("image/linux", &installed.kernel),
        ("image/initrd", &initramfs),
        ("loader/loader.conf", &settings),
        ("loader/entries/image.conf", &entry),
    ];
    with_fat(isos, "SYSTEMDBOOT", &files, directory).await
}

pub(super) async fn make_uki(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let settings = directory.join("loader.conf");
    std::fs::write(&settings, "timeout 1\n")?;
    let image = loaders::uki(installed, &isos.initramfs().await?, line, directory).await?;
    let files = [
        (LOADER, installed.systemd_boot.as_path()),
        ("loader/loader.conf", &settings),
        ("EFI/Linux/image.efi", &image),
    ];
    with_fat(isos, "UKI", &files, directory).await
}

async fn with_fat(isos: &Isos, label: &str, files: &[(&str, &Path)], directory: &Path) -> Result<PathBuf> {
    let tree = Tree::new(isos.installed(), directory.join("tree"))?;
    fat(isos.installed(), &tree.at("efiboot.img"), files).await?;
    let options = ["-V", label, "-J", "-c", "boot.cat", "-e", "efiboot.img", "-no-emul-boot"];
    tree.into_iso(&options, &directory.join("systemd-boot.iso")).await
}
