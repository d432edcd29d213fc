//! What devices there are, in the words that modules are found by.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// No device is behind so many others.
const DEEPEST: usize = 64;

/// The modalias of every device. What can't be read is as if it were not there: devices come and go all the time.
#[must_use]
pub fn modaliases(sys: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(&sys.join("devices"), 0, &mut found);
    found
}

fn walk(directory: &Path, depth: usize, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < DEEPEST {
            walk(&entry.path(), depth + 1, found);
        } else if kind.is_file() && entry.file_name() == "modalias" {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            found.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_device_is_found_once_and_links_are_not_followed() {
        let sys = tempfile::tempdir().unwrap();
        let devices = sys.path().join("devices");
        for (place, text) in [
            ("pci0000:00/0000:00:02.0", "pci:v00008086\n"),
            ("pci0000:00/0000:00:02.0/virtio1", "virtio:d00000001v00001AF4\n"),
            ("pci0000:00/0000:00:03.0", "pci:v00008086\n"),
            ("platform/empty", "\n"),
        ] {
            fs::create_dir_all(devices.join(place)).unwrap();
            fs::write(devices.join(place).join("modalias"), text).unwrap();
        }
        symlink(&devices, devices.join("pci0000:00/subsystem")).unwrap();
        let found: Vec<String> = modaliases(sys.path()).into_iter().collect();
        assert_eq!(found, ["pci:v00008086", "virtio:d00000001v00001AF4"]);
        assert!(modaliases(&sys.path().join("nowhere")).is_empty());
    }
}
