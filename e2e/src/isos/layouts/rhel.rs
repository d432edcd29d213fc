//! As RHEL 9's images and their rebuilds are, and Fedora's were before 37: isolinux for BIOS; for UEFI a GRUB whose
//! configuration is inside the FAT `images/efiboot.img`, a file of the tree. The default entry checks the medium.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::Isos;
use super::super::loaders;
use super::super::tree::{Tree, fat};

const LABEL: &str = "RHEL-9-5-0-BaseOS-x86_64";

pub(super) async fn make(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let tree = Tree::new(installed, directory.join("tree"))?;
    tree.copy(&installed.kernel, "images/pxeboot/vmlinuz")?;
    tree.copy(&isos.initramfs().await?, "images/pxeboot/initrd.img")?;

    loaders::isolinux(installed, &tree)?;
    tree.copy(&installed.kernel, "isolinux/vmlinuz")?;
    tree.copy(&isos.initramfs().await?, "isolinux/initrd.img")?;
    tree.write("isolinux/isolinux.cfg", isolinux(line))?;

    tree.write("EFI/BOOT/grub.cfg", super::fedora::grub(LABEL, line))?;
    let loader = tree.at("EFI/BOOT/BOOTX64.EFI");
    loaders::grub_uefi(installed, "/EFI/BOOT", &loader).await?;
    let configuration = tree.at("EFI/BOOT/grub.cfg");
    let files = [("EFI/BOOT/BOOTX64.EFI", loader.as_path()), ("EFI/BOOT/grub.cfg", &configuration)];
    fat(installed, &tree.at("images/efiboot.img"), &files).await?;

    let mbr = loaders::isolinux_mbr(installed);
    let options = [
        "-V",
        LABEL,
        "-J",
        "-joliet-long",
        "-cache-inodes",
        "-isohybrid-mbr",
        &mbr,
        "-b",
        "isolinux/isolinux.bin",
        "-c",
        "isolinux/boot.cat",
        "-boot-load-size",
        "4",
        "-boot-info-table",
        "-no-emul-boot",
        "-eltorito-alt-boot",
        "-e",
        "images/efiboot.img",
        "-no-emul-boot",
        "-isohybrid-gpt-basdat",
    ];
    tree.into_iso(&options, &directory.join("rhel.iso")).await
}

fn isolinux(line: &str) -> String {
    let unchecked = line.replace("rd.live.check ", "");
    format!(
        "default check\ntimeout 10\nprompt 0\n\nlabel linux\n  menu label ^Install\n  kernel vmlinuz\n  append initrd=initrd.img {unchecked}\n\nlabel check\n  menu label Test this ^media & install\n  menu default\n  kernel vmlinuz\n  append initrd=initrd.img {line}\n"
    )
}
