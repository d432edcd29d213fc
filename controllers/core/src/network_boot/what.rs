//! What a HostBootConfiguration has its host fetch.

use beskar7_api::{
    HostBootConfigurationSpec, PhysicalHost,
    boot::{BootMethod, BootMode},
    hardware::Architecture,
    physical_host::HostBoot,
};

use crate::claim::Candidate;

/// What stands for the URL of an image's root file system in kernel parameters.
pub const ROOT: &str = "{{rootURL}}";

/// What is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
    /// A kernel, and what is unpacked into its memory.
    Kernel {
        /// Its URL.
        kernel: &'a str,
        /// The URL of its initial ramdisk.
        initramfs: Option<&'a str>,
    },
    /// What an image in a registry holds.
    Registry(&'a str),
    /// An EFI program: a kernel with all that it needs in one file.
    Program(&'a str),
}

/// What is fetched; nothing, where it boots from its disk.
///
/// # Errors
/// It can't be booted: why, and what to write instead.
pub fn what(spec: &HostBootConfigurationSpec) -> Result<Option<What<'_>>, String> {
    match spec.method {
        BootMethod::Disk => return Ok(None),
        // The agent is in its drive; what it installs is looked at beside this.
        BootMethod::VirtualMedia if spec.install.is_some() || spec.task.is_some() => return Ok(None),
        BootMethod::VirtualMedia => {
            return Err("A boot from virtual media is not served from here: it is written into the \
                        PhysicalHost (bootIsoSource)"
                .to_owned());
        }
        BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot => {}
    }
    let (kernel, image) = (spec.kernel.as_deref(), spec.image.as_deref());
    match (kernel, image) {
        (Some(kernel), _) => Ok(Some(What::Kernel { kernel, initramfs: spec.initramfs.as_deref() })),
        (None, Some(image)) if is_web(image) => match is_program(image) {
            true => Ok(Some(What::Program(image))),
            false => Err(format!(
                "From the network a machine boots a kernel, an image in a registry (oci://…) or an EFI program (….efi), \
                 and {image} is none of these"
            )),
        },
        (None, Some(image)) => Ok(Some(What::Registry(image))),
        (None, None) => Err("Nothing to boot: give kernel, or image".to_owned()),
    }
}

/// The architecture that a host is given things for. Most are of this one; what holds only another's says so.
#[must_use]
pub fn architecture(host: &PhysicalHost) -> Architecture {
    Candidate::new(host).architecture.unwrap_or(Architecture::Amd64)
}

/// Whether firmware that boots by HTTP can start it without a loader in between: an EFI program that needs no parameters,
/// as nobody would pass them on.
#[must_use]
pub fn starts_by_itself(boot: &HostBoot) -> bool {
    let is_program = boot.image.as_deref().is_some_and(|image| is_web(image) && is_program(image));
    boot.kernel.is_none() && boot.kernel_args.is_empty() && is_program
}

/// Whether a host can be told to boot this from the network.
///
/// # Errors
/// It can't: why, and what to write instead.
pub(crate) fn bootable(boot: &HostBoot) -> Result<(), String> {
    let spec = HostBootConfigurationSpec {
        method: boot.method,
        kernel: boot.kernel.clone(),
        initramfs: boot.initramfs.clone(),
        image: boot.image.clone(),
        ..HostBootConfigurationSpec::default()
    };
    match (what(&spec)?, boot.boot_mode) {
        (Some(What::Program(_)), BootMode::Legacy) => Err(
            "An EFI program is no use to a machine that boots by BIOS: set bootMode: UEFI, or give a kernel"
                .to_owned(),
        ),
        (Some(What::Kernel { .. } | What::Registry(_) | What::Program(_)) | None, _) => Ok(()),
    }
}

/// Whether it is a file behind a URL; else it is the reference of an image in a registry.
pub(crate) fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn is_program(url: &str) -> bool {
    url.split(['?', '#']).next().is_some_and(|path| path.to_ascii_lowercase().ends_with(".efi"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_needs_a_loader_where_it_has_parameters() {
        for (boot, expected) in [
            (json!({"method": "HTTPBoot", "image": "http://x/os.efi"}), true),
            (json!({"method": "HTTPBoot", "image": "http://x/os.efi", "kernelArgs": ["a"]}), false),
            (json!({"method": "HTTPBoot", "image": "oci://x/os"}), false),
            (json!({"method": "HTTPBoot", "kernel": "http://x/os.efi"}), false),
        ] {
            assert_eq!(starts_by_itself(&serde_json::from_value(boot.clone()).unwrap()), expected, "{boot}");
        }
    }

    #[test]
    fn what_is_fetched_follows_from_what_is_named() {
        for (spec, expected) in [
            (json!({"method": "Disk"}), "Ok(None)"),
            (
                json!({"method": "VirtualMedia", "image": "http://x/a.iso", "install": {"image": "http://x/y.raw"}}),
                "Ok(None)",
            ),
            (json!({"kernel": "http://x/k"}), "Ok(Some(Kernel { kernel: \"http://x/k\", initramfs: None }))"),
            (
                json!({"kernel": "http://x/k", "initramfs": "http://x/i", "method": "PXE"}),
                "Ok(Some(Kernel { kernel: \"http://x/k\", initramfs: Some(\"http://x/i\") }))",
            ),
            (json!({"image": "foo:latest"}), "Ok(Some(Registry(\"foo:latest\")))"),
            (
                json!({"image": "oci://r.example.org/os:1", "method": "HTTPBoot"}),
                "Ok(Some(Registry(\"oci://r.example.org/os:1\")))",
            ),
            (
                json!({"image": "https://x/os.EFI?a#sha256=0"}),
                "Ok(Some(Program(\"https://x/os.EFI?a#sha256=0\")))",
            ),
        ] {
            let mut whole = json!({"hostRef": {"name": "h"}});
            whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            let spec = serde_json::from_value(whole).unwrap();
            assert_eq!(format!("{:?}", what(&spec)), expected);
        }
        for (spec, why) in [
            (json!({"image": "https://x/os.iso"}), "is none of these"),
            (json!({}), "Nothing to boot"),
            (json!({"method": "VirtualMedia", "image": "https://x/os.iso"}), "virtual media"),
        ] {
            let mut whole = json!({"hostRef": {"name": "h"}});
            whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            let found = what(&serde_json::from_value(whole).unwrap()).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
    }
}
