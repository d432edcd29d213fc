//! What a machine's host is told to boot.

use beskar7_api::{
    Beskar7MachineSpec,
    boot::{BootMethod, BootParameterMechanism},
    machine::ProvisioningMode,
    physical_host::HostBoot,
};

/// What is written into a host for a machine, beside who holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The ISO.
    pub boot_iso_source: Option<String>,
    /// What else is wanted of the boot.
    pub boot: HostBoot,
}

impl Order {
    /// The ways by which kernel parameters may reach the kernel; nothing, when none are needed.
    #[must_use]
    pub fn parameters_by(&self) -> Option<&'static [BootParameterMechanism]> {
        (!self.boot.kernel_args.is_empty()).then_some(&[BootParameterMechanism::UefiTarget])
    }
}

/// What a spec asks to be booted.
///
/// # Errors
/// It can't be carried out: why, and what to write instead.
pub fn order(spec: &Beskar7MachineSpec) -> Result<Order, String> {
    let kernel_args = match spec.provisioning_mode {
        ProvisioningMode::PreBakedISO => Vec::new(),
        ProvisioningMode::RemoteConfig => parameters(spec)?,
        ProvisioningMode::PXE | ProvisioningMode::Ipxe | ProvisioningMode::HTTPBoot => {
            return Err(
                "Booting from the network needs the boot server, which this version does not have: use \
                        provisioningMode PreBakedISO or RemoteConfig"
                    .to_owned(),
            );
        }
        ProvisioningMode::DiskImage => {
            return Err("Writing a disk image needs the agent, which this version does not have: use \
                        provisioningMode PreBakedISO or RemoteConfig"
                .to_owned());
        }
    };
    Ok(Order {
        boot_iso_source: Some(iso(spec)?),
        boot: HostBoot {
            method: BootMethod::VirtualMedia,
            boot_mode: spec.boot_mode,
            kernel_args,
            configuration_ref: None,
        },
    })
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

fn parameters(spec: &Beskar7MachineSpec) -> Result<Vec<String>, String> {
    let _spec = spec;
    Err("not yet".to_owned())
}
