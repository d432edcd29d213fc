//! What a kernel was built with, where its distribution says so beside it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// How something may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// In the kernel itself.
    BuiltIn,
    /// In the kernel, or as a module.
    Either,
}

/// What the agent can't do without, and what for.
const NEEDED: [(&str, How, &str); 9] = [
    ("BLK_DEV_INITRD", How::BuiltIn, "to have a ramdisk"),
    ("RD_GZIP", How::BuiltIn, "to unpack the ramdisk"),
    ("BINFMT_ELF", How::BuiltIn, "to start the agent"),
    ("MODULES", How::BuiltIn, "to load drivers"),
    ("DEVTMPFS", How::BuiltIn, "to see disks"),
    ("SYSFS", How::BuiltIn, "to see the hardware"),
    ("PROC_FS", How::BuiltIn, "to read its command line"),
    ("INET", How::BuiltIn, "to reach the boot server"),
    ("PACKET", How::Either, "to ask for an address"),
];

/// Where the configuration of a kernel is, if it is there.
#[must_use]
pub fn find(kernel: &Path, release: &str, modules: &Path) -> Option<PathBuf> {
    let beside = kernel.parent().map(|folder| folder.join(format!("config-{release}")));
    beside.into_iter().chain([modules.join("config")]).find(|path| path.is_file())
}

/// Whether the kernel has all that is needed.
///
/// # Errors
/// It does not, or its configuration can't be read.
pub fn check(path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let missing = missing(&text);
    if !missing.is_empty() {
        bail!("by {} the kernel lacks {}: take another one", path.display(), missing.join(", "));
    }
    Ok(())
}

fn missing(configuration: &str) -> Vec<String> {
    let value = |name: &str| {
        configuration
            .lines()
            .find_map(|line| line.strip_prefix("CONFIG_")?.strip_prefix(name)?.strip_prefix('='))
    };
    let lacking = NEEDED.iter().filter(|(name, how, _)| match (value(name), how) {
        (Some("y"), How::BuiltIn | How::Either) | (Some("m"), How::Either) => false,
        (Some(_) | None, How::BuiltIn | How::Either) => true,
    });
    lacking.map(|(name, _, what_for)| format!("CONFIG_{name} {what_for}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_it_is_for() {
        let all: String = NEEDED.iter().map(|(name, ..)| format!("CONFIG_{name}=y\n")).collect();
        assert_eq!(missing(&all), Vec::<String>::new());
        for (changed, expected) in [
            (all.replace("CONFIG_PACKET=y", "CONFIG_PACKET=m"), vec![]),
            (all.replace("CONFIG_INET=y", "CONFIG_INET=m"), vec!["CONFIG_INET to reach the boot server"]),
            (
                all.replace("CONFIG_RD_GZIP=y", "# CONFIG_RD_GZIP is not set"),
                vec!["CONFIG_RD_GZIP to unpack the ramdisk"],
            ),
            (all.replace("CONFIG_MODULES=y", "CONFIG_MODULES_X=y"), vec!["CONFIG_MODULES to load drivers"]),
        ] {
            assert_eq!(missing(&changed), expected);
        }
    }

    #[test]
    fn it_is_looked_for_beside_the_kernel_and_among_the_modules() {
        let directory = tempfile::tempdir().unwrap();
        let (kernel, modules) = (directory.path().join("vmlinuz-1"), directory.path().join("modules"));
        std::fs::create_dir(&modules).unwrap();
        assert_eq!(find(&kernel, "1", &modules), None);
        std::fs::write(modules.join("config"), "").unwrap();
        assert_eq!(find(&kernel, "1", &modules), Some(modules.join("config")));
        std::fs::write(directory.path().join("config-1"), "").unwrap();
        assert_eq!(find(&kernel, "1", &modules), Some(directory.path().join("config-1")));
    }
}
