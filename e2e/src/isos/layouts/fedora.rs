//! As Fedora's images are since 37: GRUB for both firmwares. For BIOS its configuration is in the tree, for UEFI
//! inside the FAT, which is an appended partition that no directory names; the tree holds copies of what is in it.
//! From a stick GRUB reads the FAT's copy, from a CD the tree's.
//! The default entry checks the medium, and would find every change.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::Isos;
use super::super::loaders;
use super::super::tree::{Tree, fat};

pub(super) const LABEL: &str = "Fedora-S-dvd-x86_64-43";

pub(super) async fn make(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let tree = Tree::new(installed, directory.join("tree"))?;
    tree.copy(&installed.kernel, "images/pxeboot/vmlinuz")?;
    tree.copy(&isos.initramfs().await?, "images/pxeboot/initrd.img")?;
    let grub = grub(LABEL, line);
    tree.write("boot/grub2/grub.cfg", &grub)?;
    tree.write("EFI/BOOT/grub.cfg", &grub)?;
    loaders::grub_bios(installed, "/boot/grub2", &tree.at("images/eltorito.img")).await?;
    let loader = tree.at("EFI/BOOT/BOOTX64.EFI");
    loaders::grub_uefi(installed, "/EFI/BOOT", &loader).await?;

    let partition = directory.join("efiboot.img");
    let configuration = tree.at("EFI/BOOT/grub.cfg");
    let files = [("EFI/BOOT/BOOTX64.EFI", loader.as_path()), ("EFI/BOOT/grub.cfg", &configuration)];
    fat(installed, &partition, &files).await?;
    let partition = partition.to_string_lossy();
    let mbr = loaders::grub_mbr(installed);
    let options = [
        "-V",
        LABEL,
        "-J",
        "-joliet-long",
        "-iso-level",
        "3",
        "--grub2-mbr",
        &mbr,
        "-partition_offset",
        "16",
        "-append_partition",
        "2",
        "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
        &partition,
        "-appended_part_as_gpt",
        "-iso_mbr_part_type",
        "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
        "-c",
        "boot.cat",
        "--boot-catalog-hide",
        "-b",
        "images/eltorito.img",
        "-no-emul-boot",
        "-boot-load-size",
        "4",
        "-boot-info-table",
        "--grub2-boot-info",
        "-eltorito-alt-boot",
        "-e",
        "--interval:appended_partition_2:all::",
        "-no-emul-boot",
    ];
    tree.into_iso(&options, &directory.join("fedora.iso")).await
}

/// The menu, whose second entry is the default and checks the medium.
pub(super) fn grub(label: &str, line: &str) -> String {
    let checked = super::for_grub(line);
    let unchecked = checked.replace("rd.live.check ", "");
    format!(
        "set default=\"1\"\n\nfunction load_video {{\n  insmod all_video\n}}\n\nload_video\nset gfxpayload=keep\ninsmod gzio\ninsmod part_gpt\n\nset timeout=1\n\nsearch --no-floppy --set=root -l '{label}'\n\nmenuentry 'Install' --class fedora --class os {{\n\tlinux /images/pxeboot/vmlinuz {unchecked}\n\tinitrd /images/pxeboot/initrd.img\n}}\nmenuentry 'Test this media & install' --class fedora --class os {{\n\tlinux /images/pxeboot/vmlinuz {checked}\n\tinitrd /images/pxeboot/initrd.img\n}}\nsubmenu 'Troubleshooting -->' {{\n\tmenuentry 'Rescue' --class fedora --class os {{\n\t\tlinux /images/pxeboot/vmlinuz {unchecked} inst.rescue\n\t\tinitrd /images/pxeboot/initrd.img\n\t}}\n}}\n"
    )
}
