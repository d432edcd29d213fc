//! Which modules say that they drive a device (`modules.alias`).

use std::collections::BTreeSet;

use super::normal;
use super::pattern::{even, fits};

/// The modules for these devices, by their names. The table of a distribution has tens of thousands of lines, so each of
/// them is held only against the devices that begin as it does.
#[must_use]
pub fn matching(table: &str, devices: &BTreeSet<String>) -> BTreeSet<String> {
    let mut devices: Vec<Vec<u8>> = devices.iter().map(|device| device.bytes().map(even).collect()).collect();
    devices.sort_unstable();
    let (mut found, mut start) = (BTreeSet::new(), Vec::new());
    for line in table.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some("alias"), Some(pattern), Some(module)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        start.clear();
        start.extend(pattern.bytes().take_while(|letter| !b"*?[\\".contains(letter)).map(even));
        let first = devices.partition_point(|device| *device < start);
        let mut alike = devices.iter().skip(first).take_while(|device| device.starts_with(&start));
        if alike.any(|device| fits(pattern.as_bytes(), device)) {
            found.insert(normal(module));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn every_module_that_says_so_is_found_for_a_device() {
        let table = "# Aliases extracted from modules themselves.\n\
                     alias pci:v00008086d000010D3sv*sd*bc*sc*i* e1000e\n\
                     alias pci:v*d*sv*sd*bc01sc08i02* nvme\n\
                     alias virtio:d00000001v* virtio-net\n\
                     alias virtio:d00000002v* virtio_blk\n\
                     alias of:N*T*Cacme,big-nic acme\n\
                     alias acpi*:PNP0C0A:* battery\n\
                     alias scsi:t-0x00* sd_mod\n\
                     alias broken\n";
        let e1000e = "pci:v00008086d000010D3sv00008086sd0000A01Fbc02sc00i00";
        let nvme = "pci:v0000144Dd0000A808sv0000144Dsd0000A801bc01sc08i02";
        for (devices, expected) in [
            (vec![], vec![]),
            (vec![e1000e], vec!["e1000e"]),
            (vec![e1000e, nvme, "virtio:d00000001v00001AF4"], vec!["e1000e", "nvme", "virtio_net"]),
            (vec!["of:NnicT(null)Cacme,big-nic"], vec!["acme"]),
            (vec!["acpi:PNP0C0A:"], vec!["battery"]),
            (vec!["scsi:t-0x00"], vec!["sd_mod"]),
            (vec!["pci:v00001234d00000001sv0sd0bc02sc00i00", "usb:v1"], vec![]),
        ] {
            assert_eq!(matching(table, &set(&devices)), set(&expected), "{devices:?}");
        }
    }
}
