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
    /// What is booted, by the one name that tells it from another: the ISO, the image in a registry, the kernel.
    #[must_use]
    pub fn image(&self) -> Option<&str> {
        image(self.boot_iso_source.as_deref(), self.boot.as_ref())
    }
}

/// What a host is told to boot, by the same name.
#[must_use]
pub fn told_to_boot(host: &PhysicalHost) -> Option<&str> {
    image(host.spec.boot_iso_source.as_deref(), host.spec.boot.as_ref())
}

fn image<'a>(iso: Option<&'a str>, boot: Option<&'a HostBoot>) -> Option<&'a str> {
    let from_network = boot.filter(|boot| boot.method.is_from_network());
    match from_network {
        Some(boot) => boot.image.as_deref().or(boot.kernel.as_deref()),
        None => iso,
    }
}
