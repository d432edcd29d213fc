//! What is written into a host for its consumer, beside who holds it.

use beskar7_api::physical_host::HostBoot;

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
