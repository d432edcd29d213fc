//! What is installed: QEMU, firmware for it, a kernel with modules, a boot loader.

use std::path::{Path, PathBuf};

/// What a machine in QEMU is made of.
#[derive(Debug, Clone)]
pub struct Installed {
    /// `qemu-system-x86_64`
    pub qemu: PathBuf,
    /// OVMF's code.
    pub firmware: PathBuf,
    /// OVMF's variables, of which each machine has a copy.
    pub variables: PathBuf,
    /// The kernel.
    pub kernel: PathBuf,
    /// Its modules.
    pub modules: PathBuf,
    /// systemd-boot.
    pub loader: PathBuf,
}

impl Installed {
    /// All of it. None where something is missing: then it has said that `test` is skipped, and why.
    pub fn find(test: &str) -> Option<Self> {
        match Self::look() {
            Ok(installed) => Some(installed),
            Err(missing) => {
                beskar7_skipped::skipped(test, missing);
                None
            }
        }
    }

    fn look() -> Result<Self, String> {
        let (kernel, modules) =
            kernel().ok_or("no kernel with modules: apt-get install linux-image-cloud-amd64")?;
        Ok(Self {
            qemu: program("qemu-system-x86_64").ok_or("no QEMU: apt-get install qemu-system-x86")?,
            firmware: file("/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf")?,
            variables: file("/usr/share/OVMF/OVMF_VARS_4M.fd", "ovmf")?,
            loader: file("/usr/lib/systemd/boot/efi/systemd-bootx64.efi", "systemd-boot-efi")?,
            kernel,
            modules,
        })
    }
}

/// A program of the path.
pub fn program(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).map(|place| place.join(name)).find(|path| path.is_file())
}

fn file(path: &str, package: &str) -> Result<PathBuf, String> {
    let path = Path::new(path);
    path.is_file().then(|| path.to_owned()).ok_or(format!("no {}: apt-get install {package}", path.display()))
}

/// The first kernel whose modules are there, too.
fn kernel() -> Option<(PathBuf, PathBuf)> {
    let mut kernels: Vec<PathBuf> =
        std::fs::read_dir("/boot").ok()?.flatten().map(|entry| entry.path()).collect();
    kernels.sort();
    kernels.into_iter().find_map(|kernel| {
        let release = kernel.file_name()?.to_str()?.strip_prefix("vmlinuz-")?.to_owned();
        let modules = Path::new("/lib/modules").join(release);
        (modules.join("modules.dep").is_file() && std::fs::File::open(&kernel).is_ok())
            .then_some((kernel, modules))
    })
}
