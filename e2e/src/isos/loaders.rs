//! Boot loaders, made from what the distribution's packages hold.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::installed::Installed;
use super::tree::Tree;
use crate::process::Command;

const LIMIT: Duration = Duration::from_secs(120);

/// What GRUB needs to find a configuration on a CD or in a FAT, and to start Linux.
const MODULES: [&str; 16] = [
    "iso9660",
    "fat",
    "part_gpt",
    "part_msdos",
    "normal",
    "configfile",
    "linux",
    "search",
    "search_label",
    "search_fs_file",
    "search_fs_uuid",
    "echo",
    "test",
    "all_video",
    "gzio",
    "ls",
];

/// GRUB as an El Torito image for BIOS, whose configuration is in the ISO's tree under `prefix`.
pub(super) async fn grub_bios(installed: &Installed, prefix: &str, to: &Path) -> Result<()> {
    let mkimage = Command::new("grub-mkimage", &installed.grub_mkimage)
        .args(["-O", "i386-pc-eltorito", "-p", prefix, "-o"])
        .arg(to)
        .arg("biosdisk")
        .args(MODULES);
    mkimage.run(LIMIT).await?.success().map(drop)
}

/// GRUB for UEFI without a configuration of its own: it reads `grub.cfg` under `prefix`, on what it was started from.
/// Of a stick that is the FAT; of a CD, where the FAT is not a partition to it, the CD's own tree.
pub(super) async fn grub_uefi(installed: &Installed, prefix: &str, to: &Path) -> Result<()> {
    let mkimage = Command::new("grub-mkimage", &installed.grub_mkimage)
        .args(["-O", "x86_64-efi", "-p", prefix, "-o"])
        .arg(to)
        .args(MODULES);
    mkimage.run(LIMIT).await?.success().map(drop)
}

/// GRUB for UEFI with a first configuration inside, which goes on elsewhere.
pub(super) async fn grub_uefi_with(installed: &Installed, configuration: &Path, to: &Path) -> Result<()> {
    let mkimage = Command::new("grub-mkimage", &installed.grub_mkimage)
        .args(["-O", "x86_64-efi", "-p", "", "-c"])
        .arg(configuration)
        .arg("-o")
        .arg(to)
        .args(MODULES);
    mkimage.run(LIMIT).await?.success().map(drop)
}

/// Debian's GRUB for CDs, as it is built into its images and Ubuntu's: it looks for `/.disk/info`, and reads
/// `/boot/grub/grub.cfg` there.
pub(super) fn grub_for_cds(installed: &Installed) -> PathBuf {
    installed.grub.join("x86_64-efi/monolithic/gcdx64.efi")
}

/// The MBR with which GRUB starts from a USB stick.
pub(super) fn grub_mbr(installed: &Installed) -> String {
    installed.grub.join("i386-pc/boot_hybrid.img").to_string_lossy().into_owned()
}

/// The MBR with which isolinux starts from a USB stick.
pub(super) fn isolinux_mbr(installed: &Installed) -> String {
    installed.isolinux.join("isohdpfx.bin").to_string_lossy().into_owned()
}

/// isolinux and what it loads, in `isolinux/`.
pub(super) fn isolinux(installed: &Installed, tree: &Tree<'_>) -> Result<()> {
    tree.copy(&installed.isolinux.join("isolinux.bin"), "isolinux/isolinux.bin")?;
    for module in ["ldlinux.c32", "libcom32.c32", "libutil.c32", "menu.c32"] {
        tree.copy(&installed.syslinux_modules.join(module), &format!("isolinux/{module}"))?;
    }
    Ok(())
}

/// A unified kernel image: systemd's stub with the kernel, the initramfs and the parameters as sections.
pub(super) async fn uki(
    installed: &Installed,
    initramfs: &Path,
    parameters: &str,
    directory: &Path,
) -> Result<PathBuf> {
    let release = directory.join("os-release");
    std::fs::write(
        &release,
        "ID=b7\nNAME=\"A test's image\"\nPRETTY_NAME=\"A test's image\"\nVERSION_ID=1\n",
    )
    .context("writing os-release")?;
    let line = directory.join("cmdline");
    std::fs::write(&line, parameters).context("writing the parameters")?;
    let to = directory.join("image.efi");
    let mut objcopy = Command::new("objcopy", &installed.objcopy);
    // Far enough apart for what is in them.
    let sections = [
        (".osrel", release.as_path(), "0x20000"),
        (".cmdline", &line, "0x30000"),
        (".linux", &installed.kernel, "0x2000000"),
        (".initrd", initramfs, "0x4000000"),
    ];
    for (name, content, address) in sections {
        objcopy = objcopy
            .args(["--add-section", &format!("{name}={}", content.display())])
            .args(["--change-section-vma", &format!("{name}={address}")]);
    }
    objcopy.arg(&installed.efi_stub).arg(&to).run(LIMIT).await?.success()?;
    without_time(&to)?;
    Ok(to)
}

/// objcopy writes when it ran into the PE header, and a checksum over that. Nobody reads either.
fn without_time(image: &Path) -> Result<()> {
    let mut bytes = std::fs::read(image).with_context(|| format!("reading {}", image.display()))?;
    let header: [u8; 4] = bytes.get(0x3c..0x40).and_then(|at| at.try_into().ok()).context("no PE header")?;
    let header = u32::from_le_bytes(header) as usize;
    for field in [header + 8, header + 24 + 64] {
        bytes.get_mut(field..field + 4).context("a short PE header")?.fill(0);
    }
    std::fs::write(image, bytes).with_context(|| format!("writing {}", image.display()))
}
