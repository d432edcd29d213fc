//! As Debian's netinst images are: see `/.disk/mkisofs` in one. isolinux includes several files; the FAT holds
//! Debian's GRUB for CDs, which reads the tree. There is a shim before it in the real ones.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::Isos;
use super::super::loaders;
use super::super::tree::{Tree, fat};

const ISOLINUX: &str = "path \ninclude menu.cfg\ndefault install\nprompt 0\ntimeout 10\n";
const MENU: &str = "menu hshift 4\nmenu title Debian GNU/Linux installer menu (BIOS mode)\ninclude stdmenu.cfg\ninclude txt.cfg\n";
const MENU_COLOURS: &str = "menu color title * #FFFFFFFF *\nmenu vshift 12\n";

pub(super) async fn make(isos: &Isos, line: &str, directory: &Path) -> Result<PathBuf> {
    let installed = isos.installed();
    let tree = Tree::new(installed, directory.join("tree"))?;
    tree.copy(&installed.kernel, "install.amd/vmlinuz")?;
    tree.copy(&isos.initramfs().await?, "install.amd/initrd.gz")?;
    tree.write(".disk/info", "Debian GNU/Linux 12 \"Bookworm\" - Official amd64 NETINST\n")?;

    loaders::isolinux(installed, &tree)?;
    tree.write("isolinux/isolinux.cfg", ISOLINUX)?;
    tree.write("isolinux/menu.cfg", MENU)?;
    tree.write("isolinux/stdmenu.cfg", MENU_COLOURS)?;
    tree.write(
        "isolinux/txt.cfg",
        format!(
            "label install\n\tmenu label ^Install\n\tkernel /install.amd/vmlinuz\n\tappend initrd=/install.amd/initrd.gz {line}\n"
        ),
    )?;

    tree.write(
        "boot/grub/x86_64-efi/grub.cfg",
        "insmod part_gpt\ninsmod iso9660\nsource /boot/grub/grub.cfg\n",
    )?;
    tree.write("boot/grub/grub.cfg", grub(line))?;
    let stub = directory.join("grub.cfg");
    std::fs::write(
        &stub,
        "search --file --set=root /.disk/info\nset prefix=($root)/boot/grub\nsource $prefix/x86_64-efi/grub.cfg\n",
    )?;
    let loader = loaders::grub_for_cds(installed);
    let files = [("EFI/boot/bootx64.efi", loader.as_path()), ("EFI/debian/grub.cfg", &stub)];
    fat(installed, &tree.at("boot/grub/efi.img"), &files).await?;
    tree.sum(&["isolinux/"]).await?;

    let mbr = loaders::isolinux_mbr(installed);
    let options = [
        "-V",
        "Debian 12.0.0 amd64 n",
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
        "boot/grub/efi.img",
        "-no-emul-boot",
        "-isohybrid-gpt-basdat",
        "-isohybrid-apm-hfsplus",
    ];
    tree.into_iso(&options, &directory.join("debian.iso")).await
}

fn grub(line: &str) -> String {
    let line = super::for_grub(line);
    format!(
        "set timeout=1\nset default=0\nmenuentry --hotkey=i 'Install' {{\n    set background_color=black\n    linux    /install.amd/vmlinuz {line}\n    initrd   /install.amd/initrd.gz\n}}\n"
    )
}
