//! What a disk says of itself, and the links that udev names after it.

use std::{fs, path::Path};

use super::{Bus, wwn};
use crate::sysfs;

/// What a disk says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub serial_number: Option<String>,
    pub wwn: Option<String>,
}

/// Reads it from where each bus has it.
pub fn read(block: &Path, bus: Bus) -> Identity {
    let attribute = |name: &str| sysfs::text(&block.join(name));
    let world_wide = |name: &str| attribute(name).and_then(|wwid| wwn::from_kernel(&wwid));
    match bus {
        Bus::Nvme => Identity {
            vendor: None,
            model: attribute("device/model"),
            serial_number: attribute("device/serial"),
            wwn: world_wide("wwid"),
        },
        Bus::Virtio => Identity { serial_number: attribute("serial"), ..Identity::default() },
        Bus::Scsi => {
            let ata = fs::read(block.join("device/vpd_pg83")).ok().and_then(|page| ata_designator(&page));
            let (ata_model, ata_serial) = ata.unwrap_or_default();
            Identity {
                vendor: attribute("device/vendor"),
                // SCSI has room for 16 letters of it only.
                model: ata_model.or_else(|| attribute("device/model")),
                serial_number: unit_serial(block).or(ata_serial),
                wwn: world_wide("device/wwid"),
            }
        }
        Bus::Other => Identity {
            vendor: None,
            model: attribute("device/model").or_else(|| attribute("device/name")),
            serial_number: attribute("device/serial"),
            wwn: world_wide("wwid"),
        },
    }
}

/// The page with a SCSI unit's serial number: a head of four bytes, and text.
fn unit_serial(block: &Path) -> Option<String> {
    let page = fs::read(block.join("device/vpd_pg80")).ok()?;
    let [_, 0x80, high, low, text @ ..] = page.as_slice() else { return None };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    sysfs::clean(&String::from_utf8_lossy(text.get(..length)?))
}

/// Model and serial number of an ATA disk, from the page of designators: it has one made of `ATA`, 40 letters of model
/// and 20 of serial number.
fn ata_designator(page: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let mut rest = page.get(4..)?;
    while let [_, kind, _, length, body @ ..] = rest {
        let (designator, next) = body.split_at_checked(usize::from(*length))?;
        if kind & 0x0f == 1 && designator.starts_with(b"ATA     ") {
            let text = |from: usize, to: usize| {
                designator.get(from..to).and_then(|bytes| sysfs::clean(&String::from_utf8_lossy(bytes)))
            };
            return Some((text(8, 48), text(48, 68)));
        }
        rest = next;
    }
    None
}

impl Identity {
    /// The links below `/dev/disk/by-id`.
    pub fn links(&self, bus: Bus, namespace: Option<u64>) -> Vec<String> {
        let model_and_serial = || Some(format!("{}_{}", self.model.as_ref()?, self.serial_number.as_ref()?));
        let names = match bus {
            Bus::Nvme => {
                let named = model_and_serial();
                let numbered = named.as_ref().zip(namespace).map(|(name, id)| format!("nvme-{name}_{id}"));
                let wide = self.wwn.as_ref().map(|wwn| format!("nvme-{wwn}"));
                // Without a number it is the first: a name is of one disk only.
                let first = named.filter(|_| namespace.is_none_or(|id| id == 1));
                vec![wide, first.map(|name| format!("nvme-{name}")), numbered]
            }
            Bus::Virtio => vec![self.serial_number.as_ref().map(|serial| format!("virtio-{serial}"))],
            Bus::Scsi => {
                let wide = self.wwn.as_ref().map(|wwn| format!("wwn-{wwn}"));
                let is_ata = self.vendor.as_deref() == Some("ATA");
                let named = if is_ata {
                    model_and_serial().map(|name| format!("ata-{name}"))
                } else {
                    let digits = self.wwn.as_deref().and_then(|wwn| wwn.strip_prefix("0x"));
                    digits.map(|digits| format!("scsi-3{digits}"))
                };
                vec![wide, named]
            }
            Bus::Other => Vec::new(),
        };
        names.into_iter().flatten().map(|name| format!("/dev/disk/by-id/{}", file_name(&name))).collect()
    }
}

/// A name as udev writes it into a file system: one `_` for spaces, and for each letter that might mean something else.
fn file_name(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_plain = |letter: char| letter.is_alphanumeric() || "#+-.:=@_".contains(letter);
    words.join("_").chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        for (text, expected) in [
            ("nvme-Samsung SSD  980_S1", "nvme-Samsung_SSD_980_S1"),
            ("ata-a/b;c", "ata-a_b_c"),
            ("virtio-x.y:z", "virtio-x.y:z"),
        ] {
            assert_eq!(file_name(text), expected);
        }
    }

    #[test]
    fn designators_that_are_cut_off_tell_nothing() {
        let mut page = vec![0, 0x83, 0, 72, 0x02, 0x00, 0, 4, b'a', b'b', b'c', b'd', 0x02, 0x01, 0, 68];
        page.extend(format!("{:8}{:40}{:>20}", "ATA", "ST4000NM0035-1V4107", "ZC1ABCDE").bytes());
        let both = (Some("ST4000NM0035-1V4107".to_owned()), Some("ZC1ABCDE".to_owned()));
        assert_eq!(ata_designator(&page), Some(both));
        for length in 0..page.len() {
            assert_eq!(ata_designator(&page[..length]), None, "{length}");
        }
    }
}
