//! What the distribution's packages have put on this machine, found by the places where Debian puts it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Something is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    what: &'static str,
    package: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not there: apt-get install --no-install-recommends {}", self.what, self.package)
    }
}

impl std::error::Error for Missing {}

/// The programs and files that ISOs are made from, and that machines are made of.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each is named after what it is")]
pub struct Installed {
    pub kernel: PathBuf,
    pub modules: PathBuf,
    pub busybox: PathBuf,
    pub xorriso: PathBuf,
    pub mformat: PathBuf,
    pub mcopy: PathBuf,
    pub md5sum: PathBuf,
    pub grub_mkimage: PathBuf,
    pub objcopy: PathBuf,
    /// `x86_64-efi` and `i386-pc` are in it.
    pub grub: PathBuf,
    /// `isolinux.bin` and `isohdpfx.bin` are in it.
    pub isolinux: PathBuf,
    /// `ldlinux.c32` and so on are in it.
    pub syslinux_modules: PathBuf,
    pub systemd_boot: PathBuf,
    pub efi_stub: PathBuf,
    pub qemu: PathBuf,
    pub ovmf_code: PathBuf,
    pub ovmf_vars: PathBuf,
}

impl Installed {
    /// Finds everything, or says what is missing first.
    pub fn find() -> Result<Self, Missing> {
        let (kernel, modules) =
            kernel().ok_or(Missing { what: "a kernel with virtio", package: "linux-image-cloud-amd64" })?;
        let found = Self {
            kernel,
            modules,
            busybox: program("busybox", "busybox-static")?,
            xorriso: program("xorriso", "xorriso")?,
            mformat: program("mformat", "mtools")?,
            mcopy: program("mcopy", "mtools")?,
            md5sum: program("md5sum", "coreutils")?,
            grub_mkimage: program("grub-mkimage", "grub-common")?,
            objcopy: program("objcopy", "binutils")?,
            grub: "/usr/lib/grub".into(),
            isolinux: "/usr/lib/ISOLINUX".into(),
            syslinux_modules: "/usr/lib/syslinux/modules/bios".into(),
            systemd_boot: file("/usr/lib/systemd/boot/efi/systemd-bootx64.efi", "systemd-boot-efi")?,
            efi_stub: file("/usr/lib/systemd/boot/efi/linuxx64.efi.stub", "systemd-boot-efi")?,
            qemu: program("qemu-system-x86_64", "qemu-system-x86")?,
            ovmf_code: file("/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf")?,
            ovmf_vars: file("/usr/share/OVMF/OVMF_VARS_4M.fd", "ovmf")?,
        };
        file("/usr/lib/grub/x86_64-efi/monolithic/gcdx64.efi", "grub-efi-amd64-bin")?;
        file("/usr/lib/grub/i386-pc/boot_hybrid.img", "grub-pc-bin")?;
        file("/usr/lib/ISOLINUX/isohdpfx.bin", "isolinux")?;
        file("/usr/lib/syslinux/modules/bios/ldlinux.c32", "syslinux-common")?;
        file("/usr/share/seabios/bios-256k.bin", "seabios")?;
        qemu_reads_http()?;
        Ok(found)
    }
}

/// The newest kernel of those whose modules are there too.
fn kernel() -> Option<(PathBuf, PathBuf)> {
    let versions = std::fs::read_dir("/lib/modules").ok()?.filter_map(Result::ok);
    let names = versions.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<_> = names
        .map(|version| {
            (PathBuf::from(format!("/boot/vmlinuz-{version}")), Path::new("/lib/modules").join(version))
        })
        .filter(|(kernel, modules)| kernel.is_file() && modules.join("modules.dep").is_file())
        .filter(|(kernel, _)| kernel.to_string_lossy().contains("cloud"))
        .collect();
    found.sort();
    found.pop()
}

/// A program, where the shell would find it, and else the package that has it.
pub fn program(what: &'static str, package: &'static str) -> Result<PathBuf, Missing> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Those for administrators are not in everybody's path.
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found = directories.map(|directory| directory.join(what)).find(|path| path.is_file());
    found.ok_or(Missing { what, package })
}

/// A file of a package.
pub(crate) fn file(what: &'static str, package: &'static str) -> Result<PathBuf, Missing> {
    let path = PathBuf::from(what);
    if path.is_file() { Ok(path) } else { Err(Missing { what, package }) }
}

/// QEMU's HTTP driver is a module in a package of its own.
fn qemu_reads_http() -> Result<(), Missing> {
    file("/usr/lib/x86_64-linux-gnu/qemu/block-curl.so", "qemu-block-extra").map(drop)
}
