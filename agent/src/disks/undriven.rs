//! Controllers of disks that no driver of the ramdisk speaks to: what is behind them is neither seen nor wiped.

use std::path::Path;

use crate::sysfs;

/// The first two digits of a PCI function's class: mass storage.
const MASS_STORAGE: &str = "0x01";

/// What is said of each of them, one line.
pub fn controllers(root: &Path) -> Vec<String> {
    let directory = root.join("sys/bus/pci/devices");
    let line = |address: &String| {
        let device = directory.join(address);
        let is_storage = sysfs::text(&device.join("class"))?.starts_with(MASS_STORAGE);
        let id = |name: &str| {
            let text = sysfs::text(&device.join(name)).unwrap_or_default();
            text.trim_start_matches("0x").to_owned()
        };
        (is_storage && !device.join("driver").exists()).then(|| {
            format!(
                "the storage controller {address} ({}:{}) has no driver: if it has disks, they are neither seen nor \
                 wiped. Add its module to the ramdisk",
                id("vendor"),
                id("device")
            )
        })
    };
    // Without PCI there are none.
    sysfs::names(&directory).unwrap_or_default().iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn controllers_of_disks_that_nothing_drives_are_told() {
        let tree = Tree::new();
        assert_eq!(controllers(tree.root()), Vec::<String>::new());
        let devices = "sys/bus/pci/devices";
        for (address, class, is_driven) in [
            ("0000:00:1f.2", "0x010601", false),
            ("0000:01:00.0", "0x010802", true),
            ("0000:02:00.0", "0x020000", false),
            ("0000:03:00.0", "0x010400", true),
        ] {
            for (name, text) in [("class", class), ("vendor", "0x8086"), ("device", "0x2922")] {
                tree.file(&format!("{devices}/{address}/{name}"), format!("{text}\n"));
            }
            if is_driven {
                tree.file(&format!("{devices}/{address}/driver/module"), "");
            }
        }
        let told = controllers(tree.root());
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("0000:00:1f.2 (8086:2922) has no driver"), "{told:?}");
    }
}
