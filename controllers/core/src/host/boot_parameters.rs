//! How kernel parameters reach the kernel of a machine that is booted for a consumer.
//!
//! **A machine is never booted without its parameters.** It would come up as something that nobody asked for: an
//! installer that waits for a person, or one that installs over a disk by its own defaults.
//!
//! There are two ways, and a host says which is its own:
//! - `ISOOverlay`: our server presents the ISO with its boot loader configuration changed. That works everywhere, and
//!   needs the boot server, which this version does not have.
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
use crate::{claim::Candidate, kernel_line};

/// What the firmware is told to start instead of the drive: the boot loader that removable media have for the machine's
/// architecture, and the kernel parameters. Nothing where there are none.
pub(super) fn uefi_target(
    host: &PhysicalHost,
    boot: &HostBoot,
    method: BootMethod,
) -> Result<Option<String>, Trouble> {
    if boot.kernel_args.is_empty() {
        return Ok(None);
    }
    match method {
        BootMethod::VirtualMedia => {}
        BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot => {
            return Err(unsupported(
                "This version can't pass kernel parameters to a machine that boots from the network, so it is not booted: that needs the boot server. Boot from an ISO, or remove the parameters",
            ));
        }
        BootMethod::Disk => {
            return Err(unsupported(
                "Kernel parameters can't be passed to a machine that boots from its own disk, so it is not booted: remove them",
            ));
        }
    }
    match (host.spec.boot_parameter_mechanism, boot.boot_mode) {
        (BootParameterMechanism::UefiTarget, BootMode::UEFI) => {}
        (BootParameterMechanism::UefiTarget, BootMode::Legacy) => {
            return Err(unsupported(
                "Kernel parameters are passed by UefiTarget, which a machine that boots by BIOS does not have, so it is not booted: set bootMode: UEFI, or use an ISO that needs no parameters (provisioningMode: PreBakedISO)",
            ));
        }
        (BootParameterMechanism::ISOOverlay, BootMode::UEFI | BootMode::Legacy) => {
            return Err(unsupported(
                "This version can't pass kernel parameters by ISO overlay, so the machine is not booted: set bootParameterMechanism: UefiTarget on hosts whose firmware passes them on, or use an ISO that needs no parameters (provisioningMode: PreBakedISO)",
            ));
        }
    }
    let line = kernel_line::line(&boot.kernel_args)
        .map_err(|error| unsupported(&format!("The machine is not booted: {error}")))?;
    let loader = loader(Candidate::new(host).architecture)?;
    Ok(Some(format!("{loader} {line}")))
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
