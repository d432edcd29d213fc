//! Images that the agent writes to a disk: what can be written, how its system finds its configuration, and how its
//! checksum is meant.

use beskar7_api::{
    boot::{BootMethod, BootMode, ChecksumType, ConfigVolume, DiskInstall, ImageDetails, ImageFormat},
    hardware::RootDeviceHints,
    machine::OsFamily,
    physical_host::HostBoot,
};

use crate::{
    delivery::{AGENT, AgentBoot, Delivery},
    network_boot,
};

/// Why nothing is written to a disk.
pub(crate) const NEEDS_AGENT: &str = "That needs the agent: start the manager with --agent-iso, or with --agent-kernel \
                                      and --agent-initramfs";

/// The kernel parameter by which the agent is told where it asks what to do.
pub(crate) fn agent_url() -> String {
    format!("{}={AGENT}", beskar7_agent_protocol::command_line::URL)
}

/// An image that can be written.
///
/// # Errors
/// It can't: why, and what to write instead.
pub(crate) fn install(
    image: &str,
    details: Option<&ImageDetails>,
    hints: Option<&RootDeviceHints>,
) -> Result<DiskInstall, String> {
    let details = details.cloned().unwrap_or_default();
    if !network_boot::is_web(image) && !is_in_registry(image) {
        return Err("A disk image is read from http://, https:// or oci:// only: ftp:// and file:// are not written to disks. \
                    Give such a URL"
            .to_owned());
    }
    match details.format {
        Some(ImageFormat::Raw | ImageFormat::Qcow2) | None => {}
        Some(ImageFormat::Iso) => {
            return Err(
                "An ISO is no image of a disk: set format to raw or qcow2, or boot from it".to_owned()
            );
        }
        Some(ImageFormat::Oci) if is_in_registry(image) => {}
        Some(ImageFormat::Oci) => {
            return Err(
                "An image in a registry is named by oci://…: give such a URL, or set format to raw or qcow2"
                    .to_owned(),
            );
        }
    }
    if details.checksum.is_some() && is_in_registry(image) {
        return Err("An image in a registry is verified by its own digest: remove the checksum, and name the image by \
                    @sha256:… where it must be this very one"
            .to_owned());
    }
    if details.checksum.is_some() && image.contains('#') {
        return Err(
            "The image has a digest in its URL, and a checksum beside it: remove one of them".to_owned()
        );
    }
    if let Some(text) = &details.checksum {
        checksum(text, details.checksum_type)?;
    }
    Ok(DiskInstall {
        image: image.to_owned(),
        format: details.format,
        checksum: details.checksum,
        checksum_type: details.checksum_type,
        root_device_hints: hints.cloned(),
    })
}

/// Whether an image is in a registry, and not a file behind a URL.
#[must_use]
pub fn is_in_registry(image: &str) -> bool {
    image.starts_with("oci://")
}

/// What a host is told to boot to have an image written: the agent, in the way that there is.
///
/// # Errors
/// There is none.
pub(crate) fn boot(
    install: DiskInstall,
    config_volume: Option<ConfigVolume>,
    boot_mode: BootMode,
    delivery: Delivery,
) -> Result<HostBoot, String> {
    let method = match delivery.agent() {
        AgentBoot::VirtualMedia => BootMethod::VirtualMedia,
        AgentBoot::Network => BootMethod::Ipxe,
        AgentBoot::None => return Err(NEEDS_AGENT.to_owned()),
    };
    Ok(HostBoot {
        method,
        boot_mode,
        kernel_args: vec![agent_url()],
        config_volume,
        install: Some(install),
        ..HostBoot::default()
    })
}

/// What the system of a disk image reads of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// cloud-config.
    CloudConfig,
    /// Ignition.
    Ignition,
    /// What the bootstrap provider of its own system writes.
    Own,
    /// Anything but Ignition, which looks for no such volume.
    NoIgnition,
    /// Nobody knows but who made it.
    Anything,
}

/// On which volume the system of a disk image finds its configuration, and what it makes of it. Ignition reads config-2
/// (in images that are made for OpenStack), and no other; what has cloud-init reads both.
///
/// # Errors
/// It reads none: why, and what to write instead.
pub(crate) fn volume(
    family: Option<OsFamily>,
    has_ignition: bool,
    asked: Option<ConfigVolume>,
) -> Result<(ConfigVolume, Reads), String> {
    let reads = match family {
        Some(OsFamily::Flatcar | OsFamily::FedoraCoreos) => Reads::Ignition,
        Some(OsFamily::Talos) => Reads::Own,
        Some(
            OsFamily::Kairos
            | OsFamily::Ubuntu
            | OsFamily::Debian
            | OsFamily::Fedora
            | OsFamily::Rhel
            | OsFamily::Centos
            | OsFamily::Opensuse,
        ) => Reads::CloudConfig,
        Some(OsFamily::LeapMicro) => {
            return Err("Disk images of LeapMicro read neither a cidata nor a config-2 volume: use one with cloud-init, and \
                        leave osFamily out, or boot from its ISO"
                .to_owned());
        }
        Some(OsFamily::Other) | None if has_ignition => Reads::Ignition,
        Some(OsFamily::Other) | None => Reads::Anything,
    };
    match (reads, asked) {
        (Reads::Ignition, Some(ConfigVolume::Cidata)) => Err(
            "Ignition reads no cidata volume: set configVolume: config-2, and use an image that is made for OpenStack"
                .to_owned(),
        ),
        (Reads::Own, Some(ConfigVolume::Config2)) => {
            Err("Talos reads its configuration from a cidata volume: leave configVolume out, and use its nocloud image"
                .to_owned())
        }
        (Reads::Ignition, Some(ConfigVolume::Config2) | None) => Ok((ConfigVolume::Config2, reads)),
        (Reads::Anything | Reads::NoIgnition, Some(ConfigVolume::Cidata) | None) => {
            Ok((ConfigVolume::Cidata, Reads::NoIgnition))
        }
        (Reads::CloudConfig | Reads::Own, None) => Ok((ConfigVolume::Cidata, reads)),
        (Reads::CloudConfig | Reads::Own | Reads::Anything | Reads::NoIgnition, Some(volume)) => Ok((volume, reads)),
    }
}

/// What a checksum says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checksum {
    /// This, by this algorithm; never [`ChecksumType::Auto`].
    Digest(ChecksumType, String),
    /// What a file at this URL lists.
    File(String),
}

/// What a checksum says, as somebody wrote it.
///
/// # Errors
/// It is none: what to write instead.
pub fn checksum(text: &str, asked: ChecksumType) -> Result<Checksum, String> {
    if network_boot::is_web(text) {
        return Ok(Checksum::File(text.to_owned()));
    }
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let told = match text.len() {
        32 if is_hex => ChecksumType::Md5,
        64 if is_hex => ChecksumType::Sha256,
        128 if is_hex => ChecksumType::Sha512,
        _ => {
            return Err("The checksum is neither a digest nor a URL: write 32 (md5), 64 (sha256) or 128 (sha512) hex digits, \
                        or the http(s) URL of a checksum file"
                .to_owned());
        }
    };
    if asked != ChecksumType::Auto && asked != told {
        return Err(
            "The checksum has not as many digits as its checksumType has: correct one of them, or leave \
                    checksumType out"
                .to_owned(),
        );
    }
    Ok(Checksum::Digest(told, text.to_ascii_lowercase()))
}

#[cfg(test)]
#[path = "disk_image_tests.rs"]
mod tests;
