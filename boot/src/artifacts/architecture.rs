//! What machines' processors are.

use std::fmt;

/// What a machine's processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Architecture {
    /// Whether a name that publishers use means it: the one that registries know, or the kernel's.
    pub(crate) fn is_named(self, name: &str) -> bool {
        match self {
            Self::Amd64 => matches!(name, "amd64" | "x86_64"),
            Self::Arm64 => matches!(name, "arm64" | "aarch64"),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        })
    }
}
