//! What is written into a host for its consumer, beside who holds it.

use beskar7_api::{PhysicalHost, physical_host::HostBoot};

use super::image_mark::ImageMark;

/// What a host is told to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Instructions {
    /// The ISO that it boots.
    pub boot_iso_source: Option<String>,
    /// What else is wanted of the boot.
    pub boot: Option<HostBoot>,
    /// Whether it should run; nothing, where the consumer has no say in that.
    pub online: Option<bool>,
    /// The image that it boots, or has booted, as it is written down.
    pub image: Option<ImageMark>,
}

impl Instructions {
    /// To boot this.
    #[must_use]
    pub fn new(boot_iso_source: Option<String>, boot: Option<HostBoot>, online: Option<bool>) -> Self {
        let image = ImageMark::of(boot_iso_source.as_deref(), boot.as_ref());
        Self { boot_iso_source, boot, online, image }
    }
}

/// What a host is told to boot, by the name that tells it from another.
#[must_use]
pub fn told_to_boot(host: &PhysicalHost) -> Option<String> {
    let told = ImageMark::of(host.spec.boot_iso_source.as_deref(), host.spec.boot.as_ref());
    told.map(|image| image.name)
}

/// The name of a kernel and what goes with it.
pub(crate) fn kernel_name(kernel: &str, initramfs: Option<&str>) -> String {
    initramfs.map_or_else(|| kernel.to_owned(), |initramfs| format!("{kernel} {initramfs}"))
}
