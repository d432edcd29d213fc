//! The file systems that a kernel shows itself by.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

/// A file system, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's name for it.
    pub kind: &'static str,
    /// Where it belongs.
    pub place: PathBuf,
}

/// What can't be had.
#[derive(Debug, thiserror::Error)]
#[error("{} can't be mounted at {}: {why}", mount.kind, mount.place.display())]
pub struct MountError {
    mount: Mount,
    why: io::Error,
}

/// Those that nothing works without.
#[must_use]
pub fn necessary(root: &Path) -> Vec<Mount> {
    let places =
        [("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev"), ("tmpfs", "run"), ("tmpfs", "tmp")];
    places.map(|(kind, place)| Mount { kind, place: root.join(place) }).into()
}

/// The firmware's variables, where the firmware is one that has any.
#[must_use]
pub fn firmware_variables(sys: &Path) -> Option<Mount> {
    let firmware = sys.join("firmware/efi");
    firmware.is_dir().then(|| Mount { kind: "efivarfs", place: firmware.join("efivars") })
}

/// Mounts one. One that is there already is left as it is.
///
/// # Errors
/// It can't be had.
pub fn mount(mount: &Mount) -> Result<(), MountError> {
    let failed = |why: io::Error| MountError { mount: mount.clone(), why };
    // Below `/sys` the kernel makes the place itself.
    if !mount.place.is_dir() {
        fs::create_dir_all(&mount.place).map_err(failed)?;
    }
    let flags = match mount.kind {
        // Programs are run from nowhere but the ramdisk itself.
        "devtmpfs" => MountFlags::NOSUID | MountFlags::NOEXEC,
        _ => MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
    };
    match rustix::mount::mount(mount.kind, &mount.place, mount.kind, flags, None) {
        Ok(()) | Err(rustix::io::Errno::BUSY) => Ok(()),
        Err(error) => Err(failed(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_mounted_where_the_firmware_has_some() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(firmware_variables(sys.path()), None);
        fs::create_dir_all(sys.path().join("firmware/efi")).unwrap();
        let place = sys.path().join("firmware/efi/efivars");
        assert_eq!(firmware_variables(sys.path()), Some(Mount { kind: "efivarfs", place }));
    }

    #[test]
    fn the_kernel_is_seen_before_anything_else() {
        let places: Vec<PathBuf> = necessary(Path::new("/")).into_iter().map(|mount| mount.place).collect();
        assert_eq!(places, ["/proc", "/sys", "/dev", "/run", "/tmp"].map(PathBuf::from));
    }

    #[test]
    fn what_can_not_be_mounted_is_told_by_its_name() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("x");
        let error = mount(&Mount { kind: "beskar7-no-such-file-system", place: place.clone() }).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("beskar7-no-such") && text.contains(place.to_str().unwrap()), "{text}");
    }
}
