//! As Flatcar's image is for BIOS: isolinux, whose configuration is another folder's by `INCLUDE`. Its own image does
//! not start under UEFI; here it does, as images remade for that do: a GRUB in the FAT goes to the tree by a
//! configuration inside itself.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::Isos;
use super::super::loaders;
use super::super::tree::{Tree, fat};

pub(super) async fn make(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let tree = Tree::new(installed, directory.join("tree"))?;
    tree.copy(&installed.kernel, "flatcar/vmlinuz")?;
    tree.copy(&isos.initramfs().await?, "flatcar/cpio.gz")?;

    loaders::isolinux(installed, &tree)?;
    tree.write("isolinux/isolinux.cfg", "INCLUDE /syslinux/syslinux.cfg\n")?;
    tree.write(
        "syslinux/syslinux.cfg",
        format!(
            "default flatcar\nprompt 1\ntimeout 15\n\nlabel flatcar\n  menu default\n  kernel /flatcar/vmlinuz\n  append initrd=/flatcar/cpio.gz {line}\n"
        ),
    )?;

    let grub = super::for_grub(line);
    tree.write(
        "boot/grub/grub.cfg",
        format!(
            "set default=\"flatcar\"\nset timeout=1\nmenuentry \"Flatcar\" --id=flatcar {{\n  linux /flatcar/vmlinuz {grub}\n  initrd /flatcar/cpio.gz\n}}\n"
        ),
    )?;
    let first = directory.join("first.cfg");
    std::fs::write(
        &first,
        "search --no-floppy --file --set=root /flatcar/vmlinuz\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n",
    )?;
    let loader = directory.join("bootx64.efi");
    loaders::grub_uefi_with(installed, &first, &loader).await?;
    fat(installed, &tree.at("boot/grub/efi.img"), &[("EFI/BOOT/BOOTX64.EFI", &loader)]).await?;

    let mbr = loaders::isolinux_mbr(installed);
    let options = [
        "-V",
        "FLATCAR",
        "-l",
        "-J",
        "-isohybrid-mbr",
        &mbr,
        "-b",
        "isolinux/isolinux.bin",
        "-c",
        "isolinux/boot.cat",
        "-no-emul-boot",
        "-boot-load-size",
        "4",
        "-boot-info-table",
        "-eltorito-alt-boot",
        "-e",
        "boot/grub/efi.img",
        "-no-emul-boot",
        "-isohybrid-gpt-basdat",
    ];
    tree.into_iso(&options, &directory.join("flatcar.iso")).await
}
