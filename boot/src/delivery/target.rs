//! Which path means what. A path that means nothing is refused like a wrong capability.

use beskar7_agent_protocol::paths;

use super::{ArtifactName, MediumName};
use crate::capability::{Capability, PREFIX};

/// What iPXE is told to start.
pub const SCRIPT: &str = "boot.ipxe";
/// The directory of boot loaders.
pub const LOADERS: &str = "/ipxe/";

/// What a path asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    File(File),
    Medium(MediumName<'a>),
    Script,
    PhoneHome,
    AgentOrder,
    AgentReport,
}

/// The parts and forms of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    UserData,
    MetaData,
    VendorData,
    NetworkConfig,
    Autoinstall,
    /// An installer's cloud-init looks for it beside the autoinstall document: there is nothing in it.
    AutoinstallVendorData,
    Ignition,
    Talos,
    Kairos,
}

/// The capability in a path, and what it asks for. What stands before it is of `--boot-url`, or of a proxy.
pub(super) fn target(path: &str) -> Option<(Capability, Target<'_>)> {
    let (_, behind) = path.rsplit_once(PREFIX)?;
    let (capability, name) = behind.split_once('/')?;
    let capability = Capability::parse(capability)?;
    let target = match name {
        "user-data" => Target::File(File::UserData),
        "meta-data" | "autoinstall/meta-data" => Target::File(File::MetaData),
        "vendor-data" => Target::File(File::VendorData),
        "network-config" | "autoinstall/network-config" => Target::File(File::NetworkConfig),
        "autoinstall/user-data" => Target::File(File::Autoinstall),
        "autoinstall/vendor-data" => Target::File(File::AutoinstallVendorData),
        "ignition" => Target::File(File::Ignition),
        "talos" => Target::File(File::Talos),
        "kairos" => Target::File(File::Kairos),
        "phone-home" => Target::PhoneHome,
        paths::ORDER => Target::AgentOrder,
        paths::REPORT => Target::AgentReport,
        SCRIPT => Target::Script,
        other => Target::Medium(medium(other)?),
    };
    Some((capability, target))
}

/// The name of a boot loader's file in a path. It needs no capability: it is the same for everybody.
pub(super) fn loader(path: &str) -> Option<&str> {
    path.rsplit_once(LOADERS).map(|(_, name)| name).filter(|name| !name.is_empty() && !name.contains('/'))
}

/// An artifact's name, `<pin>/<any name>.iso`, or `volume/<label>.iso`: BMCs want to see that it is an ISO.
fn medium(name: &str) -> Option<MediumName<'_>> {
    let Some((directory, file)) = name.split_once('/') else {
        let artifact = ArtifactName::parse(name.strip_suffix(".efi").unwrap_or(name))?;
        return (artifact.path() == name).then_some(MediumName::Artifact(artifact));
    };
    let stem = file.strip_suffix(".iso").filter(|stem| !stem.is_empty() && !stem.contains('/'))?;
    Some(match directory {
        "volume" => MediumName::Volume { label: stem },
        pin => MediumName::Image { pin },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_what_they_say_and_nothing_else() {
        let zeros = "0".repeat(40);
        let at = |name: &str| {
            let path = format!("/c/{zeros}/{name}");
            target(&path).map(|(_, target)| format!("{target:?}"))
        };
        for (name, expected) in [
            ("user-data", "File(UserData)"),
            ("autoinstall/user-data", "File(Autoinstall)"),
            ("autoinstall/meta-data", "File(MetaData)"),
            ("ignition", "File(Ignition)"),
            ("phone-home", "PhoneHome"),
            ("0123abcd/ubuntu-24.04.iso", "Medium(Image { pin: \"0123abcd\" })"),
            ("volume/cidata.iso", "Medium(Volume { label: \"cidata\" })"),
            ("boot.ipxe", "Script"),
            ("kernel", "Medium(Artifact(Kernel))"),
            ("initramfs", "Medium(Artifact(Initramfs(0)))"),
            ("initramfs-1", "Medium(Artifact(Initramfs(1)))"),
            ("program.efi", "Medium(Artifact(Program))"),
            ("image", "Medium(Artifact(Image))"),
            ("agent/order", "AgentOrder"),
            ("agent/report", "AgentReport"),
        ] {
            assert_eq!(at(name).as_deref(), Some(expected), "{name}");
        }
        for name in [
            "",
            "user-data/",
            "User-Data",
            "../user-data",
            "a.iso",
            "p/.iso",
            "p/a",
            "p/q/a.iso",
            "/a.iso/b",
            "program",
            "kernel.efi",
            "agent",
            "agent/",
            "agent/orders",
            "image.efi",
        ] {
            assert_eq!(at(name), None, "{name}");
        }
        let under = format!("/b7/c/{zeros}/user-data");
        assert!(target(&under).is_some(), "a path in --boot-url");
        for (path, expected) in [
            ("/ipxe/snponly.efi", Some("snponly.efi")),
            ("/b7/ipxe/undionly.kpxe", Some("undionly.kpxe")),
            ("/ipxe/", None),
            ("/ipxe/../c", None),
            ("/ipxe/a/b", None),
            ("/snponly.efi", None),
        ] {
            assert_eq!(loader(path), expected, "{path}");
        }
        for path in ["/", "/c/", "/c/user-data", "/c/00/user-data", "//c/", "/healthz"] {
            assert_eq!(target(path), None, "{path}");
        }
    }
}
