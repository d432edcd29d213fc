//! What a machine fetches to boot from the network, by name.

use std::fmt;

/// No kernel is given more.
const MOST_INITRAMFS: u8 = 16;

/// Something that is booted from the network, or installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArtifactName {
    /// The kernel.
    Kernel,
    /// What is unpacked into its memory; there may be several.
    Initramfs(u8),
    /// Its root file system.
    Root,
    /// A kernel with all that it needs, as one EFI program.
    Program,
    /// The image that the agent writes to a disk.
    Image,
}

impl ArtifactName {
    /// By its name in URLs and statuses.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Kernel, Self::Root, Self::Program, Self::Image];
        let numbered = (0..MOST_INITRAMFS).map(Self::Initramfs);
        all.into_iter().chain(numbered).find(|artifact| artifact.to_string() == name)
    }

    /// Where it is, behind a capability: firmware starts what is called so.
    #[must_use]
    pub fn path(self) -> String {
        match self {
            Self::Program => format!("{self}.efi"),
            Self::Kernel | Self::Initramfs(_) | Self::Root | Self::Image => self.to_string(),
        }
    }

    /// What firmware takes it for.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Program => "application/efi",
            Self::Kernel | Self::Initramfs(_) | Self::Root | Self::Image => "application/octet-stream",
        }
    }
}

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.write_str("kernel"),
            Self::Initramfs(0) => f.write_str("initramfs"),
            Self::Initramfs(number) => write!(f, "initramfs-{number}"),
            Self::Root => f.write_str("root"),
            Self::Program => f.write_str("program"),
            Self::Image => f.write_str("image"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for artifact in [
            ArtifactName::Kernel,
            ArtifactName::Initramfs(0),
            ArtifactName::Initramfs(3),
            ArtifactName::Root,
            ArtifactName::Program,
            ArtifactName::Image,
        ] {
            assert_eq!(ArtifactName::parse(&artifact.to_string()), Some(artifact));
        }
        for name in ["", "kernel ", "Kernel", "initramfs-0", "initramfs-16", "initramfs-03", "program.efi"] {
            assert_eq!(ArtifactName::parse(name), None, "{name}");
        }
    }
}
