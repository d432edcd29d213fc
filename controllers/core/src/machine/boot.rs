//! What a machine's host is told to boot.

use beskar7_api::{
    Beskar7MachineSpec,
    boot::{BootMethod, BootParameterMechanism},
    machine::ProvisioningMode,
    physical_host::HostBoot,
};

use super::parameters;

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
    let Some(family) = spec.os_family else {
        return Err(
            "osFamily is missing: RemoteConfig must know which kernel parameters the operating system reads"
                .to_owned(),
        );
    };
    parameters::parameters(family, spec.config_url.as_deref(), &spec.kernel_args)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use beskar7_api::boot::BootMode;
    use serde_json::{Value, json};

    use super::*;

    fn ordered(spec: Value) -> Result<Order, String> {
        order(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn a_pre_baked_iso_is_booted_as_it_is() {
        let spec =
            json!({"provisioningMode": "PreBakedISO", "imageURL": "https://x/y.iso", "bootMode": "Legacy"});
        let order = ordered(spec).unwrap();
        assert_eq!(order.boot_iso_source.as_deref(), Some("https://x/y.iso"));
        assert_eq!((order.boot.method, order.boot.boot_mode), (BootMethod::VirtualMedia, BootMode::Legacy));
        assert_eq!(order.parameters_by(), None, "any host will do");
    }

    #[test]
    fn a_remote_configuration_needs_a_host_that_passes_parameters() {
        let order = ordered(json!({
            "provisioningMode": "RemoteConfig", "imageURL": "http://x/y.iso", "osFamily": "kairos",
            "configURL": "http://x/c.yaml", "kernelArgs": ["console=ttyS0"],
        }))
        .unwrap();
        let args = &order.boot.kernel_args;
        assert!(args.contains(&"config_url=http://x/c.yaml".to_owned()), "{args:?}");
        assert!(args.contains(&"console=ttyS0".to_owned()), "{args:?}");
        assert_eq!(order.parameters_by(), Some([BootParameterMechanism::UefiTarget].as_slice()));
    }

    #[test]
    fn what_cannot_be_carried_out_says_what_to_write_instead() {
        let iso = "https://x/y.iso";
        for (spec, told) in [
            (json!({"provisioningMode": "PreBakedISO", "imageURL": "file:///y.iso"}), "web server"),
            (json!({"provisioningMode": "PreBakedISO", "imageURL": "oci://x/y"}), "http://"),
            (json!({"provisioningMode": "PreBakedISO"}), "imageURL is missing"),
            (json!({"provisioningMode": "iPXE", "kernel": "http://x/k"}), "PreBakedISO or RemoteConfig"),
            (json!({"provisioningMode": "PXE", "kernel": "http://x/k"}), "PreBakedISO or RemoteConfig"),
            (json!({"provisioningMode": "HTTPBoot", "kernel": "http://x/k"}), "PreBakedISO or RemoteConfig"),
            (json!({"provisioningMode": "DiskImage", "imageURL": iso}), "PreBakedISO or RemoteConfig"),
            (json!({"provisioningMode": "RemoteConfig", "imageURL": iso}), "osFamily is missing"),
            (json!({"provisioningMode": "RemoteConfig", "imageURL": iso, "osFamily": "kairos"}), "configURL"),
        ] {
            let error = ordered(spec.clone()).unwrap_err();
            assert!(error.contains(told), "{spec}: {error}");
        }
        for scheme in ["http", "https", "ftp", "HTTP"] {
            let image = format!("{scheme}://x/y.iso");
            assert!(
                ordered(json!({"provisioningMode": "PreBakedISO", "imageURL": image})).is_ok(),
                "{scheme}"
            );
        }
    }
}
