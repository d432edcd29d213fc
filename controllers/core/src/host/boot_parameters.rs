//! How kernel parameters reach the kernel of a machine that is booted for a consumer.
//!
//! **A machine is never booted without its parameters.** It would come up as something that nobody asked for: an
//! installer that waits for a person, or one that installs over a disk by its own defaults.
//!
//! There are two ways, and a host says which is its own:
//! - `ISOOverlay`: our server presents the ISO with its boot loader configuration changed. That works with every firmware,
//!   and needs the boot server.
//! - `UefiTarget`: the firmware is told, once, to start the boot loader of the inserted ISO by its path, with the
//!   parameters behind it. Redfish means the property for a device path and nothing else, so this is for hosts that
//!   somebody tried it on: some BMCs take only paths from their own list, some firmware drops what follows the path,
//!   and a boot loader like GRUB makes nothing of it. A kernel that is its own loader (EFI stub, unified kernel image)
//!   does, mostly without Secure Boot only.

use beskar7_api::{
    PhysicalHost,
    boot::{BootMethod, BootMode, BootParameterMechanism},
    conditions::host as reasons,
    hardware::Architecture,
    physical_host::HostBoot,
};

use super::contact::Trouble;
use crate::{claim::Candidate, delivery::Delivery, kernel_line};

/// Kernel parameters, each as it stands on the command line, and how they reach the kernel. The placeholder of the
/// configuration's URL is still in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameters {
    /// Our server presents the image with them.
    Overlay(Vec<String>),
    /// The firmware is told to start the boot loader that removable media have for the machine's architecture, with the
    /// parameters behind it.
    UefiTarget {
        /// The boot loader.
        loader: &'static str,
        /// The parameters.
        arguments: Vec<String>,
    },
}

/// How the kernel parameters reach the kernel. Nothing where there are none.
pub(super) fn parameters(
    host: &PhysicalHost,
    boot: &HostBoot,
    method: BootMethod,
    delivery: Delivery,
) -> Result<Option<Parameters>, Trouble> {
    if boot.kernel_args.is_empty() {
        return Ok(None);
    }
    match method {
        BootMethod::VirtualMedia => {}
        // They are in what its loader fetches from our server.
        BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot => {
            return quoted(&boot.kernel_args, delivery).map(|_| None);
        }
        BootMethod::Disk => {
            return Err(unsupported(
                "Kernel parameters can't be passed to a machine that boots from its own disk, so it is not booted: remove them",
            ));
        }
    }
    let arguments = quoted(&boot.kernel_args, delivery)?;
    match (host.spec.boot_parameter_mechanism, boot.boot_mode) {
        (BootParameterMechanism::UefiTarget, BootMode::UEFI) => {
            let loader = loader(Candidate::new(host).architecture)?;
            Ok(Some(Parameters::UefiTarget { loader, arguments }))
        }
        (BootParameterMechanism::UefiTarget, BootMode::Legacy) => Err(unsupported(
            "Kernel parameters are passed by UefiTarget, which a machine that boots by BIOS does not have, so it is not booted: set bootMode: UEFI, set bootParameterMechanism: ISOOverlay on the host, or use an ISO that needs no parameters (provisioningMode: PreBakedISO)",
        )),
        (BootParameterMechanism::ISOOverlay, BootMode::UEFI | BootMode::Legacy) => match delivery {
            Delivery::On { .. } => Ok(Some(Parameters::Overlay(arguments))),
            Delivery::Off => Err(unsupported(
                "Kernel parameters are passed by ISO overlay, which needs the boot server, and that is off, so the machine is not booted: start the manager with --boot-url, set bootParameterMechanism: UefiTarget on hosts whose firmware passes them on, or use an ISO that needs no parameters (provisioningMode: PreBakedISO)",
            )),
        },
    }
}

/// Each as it stands on the command line, if all of them together fit there.
fn quoted(arguments: &[String], delivery: Delivery) -> Result<Vec<String>, Trouble> {
    let refused =
        |error: kernel_line::ArgumentError| unsupported(&format!("The machine is not booted: {error}"));
    let whole: Vec<String> = arguments.iter().map(|argument| delivery.as_long(argument)).collect();
    kernel_line::line(&whole).map_err(refused)?;
    arguments.iter().map(|argument| kernel_line::quote(argument)).collect::<Result<_, _>>().map_err(refused)
}

/// Where removable media have their boot loader: section 3.5.1.1 of the UEFI specification.
fn loader(architecture: Option<Architecture>) -> Result<&'static str, Trouble> {
    match architecture {
        Some(Architecture::Amd64) => Ok(r"\EFI\BOOT\BOOTX64.EFI"),
        Some(Architecture::Arm64) => Ok(r"\EFI\BOOT\BOOTAA64.EFI"),
        None => Err(Trouble {
            passes: true,
            ..unsupported(
                "Which boot loader gets the kernel parameters depends on the machine's architecture, which is not known yet: it is booted once its BMC has told, or when you set spec.architecture to amd64 or arm64",
            )
        }),
    }
}

fn unsupported(message: &str) -> Trouble {
    Trouble { reason: reasons::BOOT_PARAMETERS_UNSUPPORTED, message: message.to_owned(), passes: false }
}

#[cfg(test)]
#[path = "boot_parameters_tests.rs"]
mod tests;
