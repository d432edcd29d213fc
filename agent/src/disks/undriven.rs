//! Controllers of disks that no driver of the ramdisk speaks to: what is behind them is neither seen nor wiped.

use std::path::Path;

use beskar7_agent_protocol::hardware::PciDevice;

use crate::sysfs;

/// The first two digits of a PCI function's class: mass storage.
const MASS_STORAGE: &str = "01";

/// All of them, in the order of their addresses.
pub fn controllers(root: &Path) -> Vec<PciDevice> {
    let directory = root.join("sys/bus/pci/devices");
    let controller = |address: String| {
        let device = directory.join(&address);
        let number =
            |name: &str| sysfs::text(&device.join(name)).map(|text| text.trim_start_matches("0x").to_owned());
        let class = number("class").filter(|class| class.starts_with(MASS_STORAGE))?;
        let (vendor, id) = (number("vendor").unwrap_or_default(), number("device").unwrap_or_default());
        (!device.join("driver").exists()).then_some(PciDevice { address, vendor, device: id, class })
    };
    // Without PCI there are none.
    sysfs::names(&directory).unwrap_or_default().into_iter().filter_map(controller).collect()
}

/// What is said of one, in the log.
pub fn line(controller: &PciDevice) -> String {
    let PciDevice { address, vendor, device, class: _ } = controller;
    format!(
        "the storage controller {address} ({vendor}:{device}) has no driver: if it has disks, they are neither seen nor wiped. \
         Add its module to the ramdisk"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn controllers_of_disks_that_nothing_drives_are_told() {
        let tree = Tree::new();
        assert_eq!(controllers(tree.root()), Vec::new());
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
        let found = controllers(tree.root());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].class, "010601");
        assert!(line(&found[0]).contains("0000:00:1f.2 (8086:2922) has no driver"), "{found:?}");
    }
}
