//! What is on the PCI buses.

use std::path::Path;

use beskar7_agent_protocol::hardware::PciDevice;

use crate::{sysfs, telling::Problem};

/// All functions, in the order of their addresses.
///
/// # Errors
/// The kernel's list can't be read.
pub fn all(root: &Path) -> Result<Vec<PciDevice>, Problem> {
    let directory = root.join("sys/bus/pci/devices");
    let names = sysfs::names(&directory).map_err(|error| {
        Problem::new("inspecting", format!("the kernel's list of PCI devices can't be read: {error}"))
    })?;
    let device = |address: String| {
        let number = |name: &str| {
            sysfs::text(&directory.join(&address).join(name))
                .map(|text| text.trim_start_matches("0x").to_owned())
        };
        let (vendor, id, class) = (number("vendor")?, number("device")?, number("class")?);
        Some(PciDevice { address, vendor, device: id, class })
    };
    Ok(names.into_iter().filter_map(device).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn functions_are_told_by_their_numbers() {
        let tree = Tree::new();
        let devices = "sys/bus/pci/devices";
        for (address, numbers) in [
            ("0000:01:00.0", ["0x8086", "0x1572", "0x020000"]),
            ("0000:00:1f.2", ["0x8086", "0x2922", "0x010601"]),
        ] {
            for (name, number) in ["vendor", "device", "class"].into_iter().zip(numbers) {
                tree.file(&format!("{devices}/{address}/{name}"), format!("{number}\n"));
            }
        }
        tree.file(&format!("{devices}/0000:02:00.0/vendor"), "0x8086");
        let found = all(tree.root()).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|found| {
                (found.address.as_str(), found.vendor.as_str(), found.device.as_str(), found.class.as_str())
            })
            .collect();
        assert_eq!(
            told,
            [("0000:00:1f.2", "8086", "2922", "010601"), ("0000:01:00.0", "8086", "1572", "020000")]
        );
    }
}
