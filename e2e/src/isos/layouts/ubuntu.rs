//! As Ubuntu's live server images are since 22.04: GRUB for both firmwares, one `grub.cfg` in the tree, the FAT a
//! partition behind the file system that no directory names. There is a shim before GRUB in the real ones.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::Isos;
use super::super::loaders;
use super::super::tree::{Tree, fat};

pub(super) async fn make(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let tree = Tree::new(installed, directory.join("tree"))?;
    tree.copy(&installed.kernel, "casper/vmlinuz")?;
    tree.copy(&isos.initramfs().await?, "casper/initrd")?;
    tree.write(".disk/info", "Ubuntu-Server 24.04 LTS \"Noble Numbat\" - Release amd64\n")?;
    tree.write("boot/grub/grub.cfg", grub(line))?;
    std::fs::create_dir_all(tree.at("boot/grub/i386-pc"))?;
    loaders::grub_bios(installed, "/boot/grub", &tree.at("boot/grub/i386-pc/eltorito.img")).await?;
    tree.sum(&["boot/grub/i386-pc/eltorito.img"]).await?;

    let partition = directory.join("esp.img");
    fat(installed, &partition, &[("EFI/boot/bootx64.efi", &loaders::grub_for_cds(installed))]).await?;
    let partition = partition.to_string_lossy();
    let mbr = loaders::grub_mbr(installed);
    let options = [
        "-V",
        "Ubuntu-Server 24.04 LTS amd64",
        "-J",
        "-joliet-long",
        "-iso-level",
        "3",
        "--grub2-mbr",
        &mbr,
        "-partition_offset",
        "16",
        "--mbr-force-bootable",
        "-append_partition",
        "2",
        "28732ac11ff8d211ba4b00a0c93ec93b",
        &partition,
        "-appended_part_as_gpt",
        "-iso_mbr_part_type",
        "a2a0d0ebe5b9334487c068b6b72699c7",
        "-c",
        "/boot.catalog",
        "-b",
        "/boot/grub/i386-pc/eltorito.img",
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
    tree.into_iso(&options, &directory.join("ubuntu.iso")).await
}

fn grub(line: &str) -> String {
    let line = super::for_grub(line);
    format!(
        "set timeout=1\n\nset menu_color_normal=white/black\nset menu_color_highlight=black/light-gray\n\nmenuentry \"Try or Install Ubuntu Server\" {{\n\tset gfxpayload=keep\n\tlinux\t/casper/vmlinuz  {line}\n\tinitrd\t/casper/initrd\n}}\nmenuentry \"Ubuntu Server with the HWE kernel\" {{\n\tset gfxpayload=keep\n\tlinux\t/casper/hwe-vmlinuz  {line}\n\tinitrd\t/casper/hwe-initrd\n}}\n"
    )
}
