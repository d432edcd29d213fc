//! What is written into a host for its consumer, beside who holds it.

use beskar7_api::{PhysicalHost, physical_host::HostBoot};

/// What a host is told to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Instructions {
    /// The ISO that it boots.
    pub boot_iso_source: Option<String>,
    /// What else is wanted of the boot.
    pub boot: Option<HostBoot>,
    /// Whether it should run; nothing, where the consumer has no say in that.
    pub online: Option<bool>,
}

impl Instructions {
    /// What is booted, by the name that tells it from another: the ISO, the image in a registry, the kernel and what goes
    /// with it, the image that is written to a disk.
    #[must_use]
    pub fn image(&self) -> Option<String> {
        image(self.boot_iso_source.as_deref(), self.boot.as_ref())
    }
}

/// What a host is told to boot, by the same name.
#[must_use]
pub fn told_to_boot(host: &PhysicalHost) -> Option<String> {
    image(host.spec.boot_iso_source.as_deref(), host.spec.boot.as_ref())
}

fn image(iso: Option<&str>, boot: Option<&HostBoot>) -> Option<String> {
    if let Some(install) = boot.and_then(|boot| boot.install.as_ref()) {
        return Some(install.image.clone());
    }
    let Some(boot) = boot.filter(|boot| boot.method.is_from_network()) else {
        return iso.map(str::to_owned);
    };
    boot.image.clone().or_else(|| Some(kernel_name(boot.kernel.as_deref()?, boot.initramfs.as_deref())))
}

/// The name of a kernel and what goes with it.
pub(crate) fn kernel_name(kernel: &str, initramfs: Option<&str>) -> String {
    initramfs.map_or_else(|| kernel.to_owned(), |initramfs| format!("{kernel} {initramfs}"))
}
