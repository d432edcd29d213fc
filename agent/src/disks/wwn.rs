//! World Wide Names: one name, written in several ways.

/// As udev would write it: `0x5000c500a1b2c3d4`, `eui.0025385b71b0b0c4`. None where it is no name of that kind.
pub fn from_kernel(wwid: &str) -> Option<String> {
    let wwid = wwid.to_lowercase();
    match wwid.split_once('.')? {
        ("naa", digits) => Some(format!("0x{digits}")),
        ("eui" | "nvme" | "uuid", _) => Some(wwid),
        // Made of the vendor's, the model's and the serial number's text.
        _ => None,
    }
}

/// Whether a person means this name: with any of the prefixes that tools show, or without, and with or without the
/// vendor's extension of the long ones. Without it, disks that one RAID controller made may be meant all at once.
pub fn is_meant(wanted: &str, wwn: &str) -> bool {
    /// Digits without the extension.
    const SHORT: usize = 16;
    let (wanted, wwn) = (bare(wanted), bare(wwn));
    wanted == wwn || (wwn.len() == 2 * SHORT && wwn.get(..SHORT) == Some(&wanted))
}

/// Whether a person means this name and no other: all of it is there.
pub fn is_exact(wanted: &str, wwn: &str) -> bool {
    bare(wanted) == bare(wwn)
}

fn bare(name: &str) -> String {
    let mut name = name.trim().to_lowercase();
    for prefix in ["/dev/disk/by-id/", "nvme-", "scsi-3", "wwn-", "0x", "naa.", "eui.", "nvme.", "uuid."] {
        if let Some(rest) = name.strip_prefix(prefix) {
            name = rest.to_owned();
        }
    }
    name.replace(':', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_udev_does() {
        for (wwid, expected) in [
            ("naa.5000C500A1B2C3D4", Some("0x5000c500a1b2c3d4")),
            ("eui.0025385b71b0b0c4", Some("eui.0025385b71b0b0c4")),
            ("nvme.8086-aa-bb-00000001", Some("nvme.8086-aa-bb-00000001")),
            ("t10.ATA     QEMU HARDDISK   QM00001", None),
            ("nothing", None),
        ] {
            assert_eq!(from_kernel(wwid).as_deref(), expected, "{wwid}");
        }
    }

    #[test]
    fn a_person_may_write_it_in_any_of_the_usual_ways() {
        let (short, long) = ("0x5000c500a1b2c3d4", "0x600508b1001c0a1b2c3d4e5f60718293");
        for (wanted, wwn, expected) in [
            ("0x5000c500a1b2c3d4", short, true),
            ("5000C500A1B2C3D4", short, true),
            ("naa.5000c500a1b2c3d4", short, true),
            ("wwn-0x5000c500a1b2c3d4", short, true),
            ("50:00:c5:00:a1:b2:c3:d4", short, true),
            ("0x5000c500a1b2c3d5", short, false),
            ("0x5000c500", short, false),
            ("0x600508b1001c0a1b", long, true),
            ("0x600508b1001c0a1b2c3d4e5f60718293", long, true),
            ("scsi-3600508b1001c0a1b2c3d4e5f60718293", long, true),
            ("0025385b71b0b0c4", "eui.0025385b71b0b0c4", true),
            ("nvme-eui.0025385b71b0b0c4", "eui.0025385b71b0b0c4", true),
            ("", short, false),
        ] {
            assert_eq!(is_meant(wanted, wwn), expected, "{wanted} {wwn}");
            let is_cut = wanted == "0x600508b1001c0a1b";
            assert_eq!(is_exact(wanted, wwn), expected && !is_cut, "{wanted} {wwn}");
        }
    }
}
