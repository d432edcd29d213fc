//! How large everything became, and whether that is too large.

use std::fmt;

use anyhow::{Result, bail};

/// What may be there beside the kernel and its modules: 20 MB.
pub const MOST_BYTES: u64 = 20_000_000;

/// The sizes, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The agent.
    pub agent: u64,
    /// The modules and their lists, unpacked.
    pub modules: u64,
    /// How many modules.
    pub module_count: usize,
    /// What else is in the ramdisk, unpacked: nodes, directories, a CA.
    pub rest: u64,
    /// The kernel.
    pub kernel: u64,
    /// The initramfs, packed.
    pub initramfs: u64,
    /// The boot loader, where there is an ISO.
    pub loader: u64,
    /// The ISO, where there is one.
    pub iso: Option<u64>,
}

impl Sizes {
    /// Looks whether it is small enough.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self) -> Result<()> {
        let Self { agent, rest, loader, .. } = self;
        let all = agent + rest + loader;
        if all > MOST_BYTES {
            bail!(
                "the ramdisk is too large: {} beside the kernel and its modules, and {} are allowed. The agent has {}, the \
                 boot loader {}, the rest {}",
                megabytes(all),
                megabytes(MOST_BYTES),
                megabytes(*agent),
                megabytes(*loader),
                megabytes(*rest)
            );
        }
        Ok(())
    }
}

fn megabytes(bytes: u64) -> String {
    // Rounded up: nothing is smaller than it is said to be.
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// A table for people.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules = format!("modules ({}), unpacked", self.module_count);
        let beside = self.agent + self.rest + self.loader;
        let lines = [
            ("agent", Some(self.agent)),
            ("beside the kernel and its modules", Some(beside)),
            (modules.as_str(), Some(self.modules)),
            ("kernel", Some(self.kernel)),
            ("initramfs", Some(self.initramfs)),
            ("agent.iso", self.iso),
        ];
        for (what, bytes) in lines {
            let size = bytes.map_or_else(|| "not made".to_owned(), megabytes);
            writeln!(f, "  {what:<36}{size:>10}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_said_with_what_it_is_made_of() {
        let small =
            Sizes { agent: 19_000_000, rest: 900_000, loader: 100_000, modules: 1 << 30, ..Sizes::default() };
        small.check().unwrap();
        let error = Sizes { agent: 19_000_001, ..small }.check().unwrap_err().to_string();
        assert!(
            error.contains("20.1 MB beside the kernel and its modules, and 20.0 MB are allowed"),
            "{error}"
        );
        assert!(error.contains("The agent has 19.1 MB, the boot loader 0.1 MB, the rest 0.9 MB"), "{error}");
    }

    #[test]
    fn the_table_has_a_line_for_each() {
        let sizes = Sizes { agent: 4_200_000, module_count: 7, iso: None, ..Sizes::default() };
        let table = sizes.to_string();
        assert!(table.contains("agent                                   4.2 MB\n"), "{table}");
        assert!(table.contains("modules (7), unpacked"), "{table}");
        assert!(table.ends_with("not made\n"), "{table}");
    }
}
