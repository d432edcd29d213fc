//! What a machine's host is told to boot.

use beskar7_api::{
    Beskar7MachineSpec,
    boot::{BootMethod, BootMode, BootParameterMechanism},
    machine::{OsFamily, ProvisioningMode},
    physical_host::HostBoot,
};

use super::parameters::{self, BootstrapData};
use crate::{
    claim::Instructions,
    delivery::{Delivery, way},
    disk_image::{self, Reads},
    network_boot,
};

/// Why nothing boots from the network.
pub(crate) const NEEDS_SERVER: &str =
    "Booting from the network needs the boot server, which is off: start the manager with --boot-url";

/// What a machine's host is told to boot, and what that needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// What is written into the host.
    pub instructions: Instructions,
    /// The ways by which kernel parameters may reach the kernel; nothing, when none are needed.
    pub parameters_by: Option<&'static [BootParameterMechanism]>,
    /// What the Machine's bootstrap data must be, where the machine is given it.
    pub bootstrap: Option<Form>,
}

/// What a machine makes of its Machine's bootstrap data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It reads cloud-config.
    CloudConfig,
    /// It reads Ignition.
    Ignition,
    /// It reads what the bootstrap provider of its own system writes, and neither of the others.
    Own,
    /// It finds it where Ignition does not look.
    NoIgnition,
    /// Nobody knows but who wrote its kernel parameters, or made its image.
    Any,
}

impl Order {
    /// Whether it boots from the network.
    #[must_use]
    pub fn is_from_network(&self) -> bool {
        self.instructions.boot.as_ref().is_some_and(|boot| boot.method.is_from_network())
    }
}

/// What a spec asks to be booted.
///
/// # Errors
/// It can't be carried out: why, and what to write instead.
pub fn order(spec: &Beskar7MachineSpec, delivery: Delivery) -> Result<Order, String> {
    let kernel_args = match spec.provisioning_mode {
        ProvisioningMode::PreBakedISO => Vec::new(),
        ProvisioningMode::RemoteConfig => parameters(spec, delivery)?,
        ProvisioningMode::PXE => return from_network(spec, BootMethod::PXE, delivery),
        ProvisioningMode::Ipxe => return from_network(spec, BootMethod::Ipxe, delivery),
        ProvisioningMode::HTTPBoot => return from_network(spec, BootMethod::HTTPBoot, delivery),
        ProvisioningMode::DiskImage => return to_disk(spec, delivery),
    };
    if spec.config_volume.is_some() && delivery == Delivery::Off {
        return Err(
            "configVolume is made by the boot server, which is off: start the manager with --boot-url, or \
                    use an ISO that holds its configuration"
                .to_owned(),
        );
    }
    let boot = HostBoot {
        method: BootMethod::VirtualMedia,
        boot_mode: spec.boot_mode,
        kernel_args,
        config_volume: spec.config_volume,
        ..HostBoot::default()
    };
    Ok(Order {
        parameters_by: parameters_by(&boot, delivery),
        bootstrap: way(&boot).map(|_| form(spec)),
        instructions: Instructions::new(Some(iso(spec)?), Some(boot), None),
    })
}

/// A kernel, an image in a registry or an EFI program, by our own server.
fn from_network(spec: &Beskar7MachineSpec, method: BootMethod, delivery: Delivery) -> Result<Order, String> {
    if delivery == Delivery::Off {
        return Err(NEEDS_SERVER.to_owned());
    }
    let family = spec.os_family.unwrap_or(OsFamily::Other);
    let kernel_args = parameters::parameters(family, spec.config_url.as_deref(), &spec.kernel_args, delivery)
        .map_err(|error| error.to_string())?;
    let boot = HostBoot {
        method,
        boot_mode: spec.boot_mode,
        kernel: spec.kernel.clone(),
        initramfs: spec.initramfs.clone(),
        image: spec.image_url.clone(),
        kernel_args,
        ..HostBoot::default()
    };
    network_boot::bootable(&boot)?;
    Ok(Order {
        parameters_by: None,
        bootstrap: way(&boot).map(|_| form(spec)),
        instructions: Instructions::new(None, Some(boot), None),
    })
}

/// An image that the agent writes to a disk, with the Machine's bootstrap data behind it.
fn to_disk(spec: &Beskar7MachineSpec, delivery: Delivery) -> Result<Order, String> {
    let Some(url) = &spec.image_url else {
        return Err("imageURL is missing: give the URL of a disk image".to_owned());
    };
    let install = disk_image::install(url, spec.image.as_ref(), spec.root_device_hints.as_ref())?;
    let (volume, reads) = disk_image::volume(spec.os_family, false, spec.config_volume)?;
    let boot = disk_image::boot(install, Some(volume), spec.boot_mode, delivery)?;
    let parameters_by = match boot.method.is_from_network() {
        true => None,
        false => parameters_by(&boot, delivery),
    };
    let form = match reads {
        Reads::CloudConfig => Form::CloudConfig,
        Reads::Ignition => Form::Ignition,
        Reads::Own => Form::Own,
        Reads::NoIgnition => Form::NoIgnition,
        Reads::Anything => Form::Any,
    };
    Ok(Order {
        parameters_by,
        bootstrap: Some(form),
        instructions: Instructions::new(None, Some(boot), None),
    })
}

/// Our server passes kernel parameters on with any firmware; where it is off, only some firmware does.
pub(crate) fn parameters_by(
    boot: &HostBoot,
    delivery: Delivery,
) -> Option<&'static [BootParameterMechanism]> {
    use BootParameterMechanism::{ISOOverlay, UefiTarget};
    if boot.kernel_args.is_empty() {
        return None;
    }
    Some(match (delivery, boot.boot_mode) {
        (Delivery::On { .. }, BootMode::UEFI) => &[ISOOverlay, UefiTarget],
        (Delivery::On { .. }, BootMode::Legacy) => &[ISOOverlay],
        (Delivery::Off, BootMode::UEFI | BootMode::Legacy) => &[UefiTarget],
    })
}

fn form(spec: &Beskar7MachineSpec) -> Form {
    let family = match spec.provisioning_mode {
        ProvisioningMode::RemoteConfig
        | ProvisioningMode::PXE
        | ProvisioningMode::Ipxe
        | ProvisioningMode::HTTPBoot => spec.os_family.unwrap_or(OsFamily::Other),
        // What reads a volume is inside of the image.
        ProvisioningMode::PreBakedISO | ProvisioningMode::DiskImage => OsFamily::Other,
    };
    match parameters::row(family).bootstrap {
        BootstrapData::CloudConfig | BootstrapData::Autoinstall => Form::CloudConfig,
        BootstrapData::Ignition => Form::Ignition,
        BootstrapData::OwnProvider => Form::Own,
        BootstrapData::NeedsConfigUrl(_) | BootstrapData::AsKernelArgsSay => Form::Any,
    }
}

/// The ISO, by a URL that a BMC can read from.
fn iso(spec: &Beskar7MachineSpec) -> Result<String, String> {
    let Some(url) = &spec.image_url else {
        return Err("imageURL is missing: give the URL of an ISO".to_owned());
    };
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    match scheme.as_str() {
        "http" | "https" | "ftp" => Ok(url.clone()),
        "file" => Err(
            "imageURL is a file:// URL, and a BMC has no such file: put the ISO on a web server that the \
                       BMCs reach, and give its http:// or https:// URL"
                .to_owned(),
        ),
        other => Err(format!(
            "imageURL has the scheme {other}, from which no BMC reads an ISO: give an http:// or https:// URL"
        )),
    }
}

fn parameters(spec: &Beskar7MachineSpec, delivery: Delivery) -> Result<Vec<String>, String> {
    let Some(family) = spec.os_family else {
        return Err(
            "osFamily is missing: RemoteConfig must know which kernel parameters the operating system reads"
                .to_owned(),
        );
    };
    parameters::parameters(family, spec.config_url.as_deref(), &spec.kernel_args, delivery)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
