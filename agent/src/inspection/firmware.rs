//! What firmware says of a machine, as the kernel passes it on.

use std::path::Path;

use beskar7_agent_protocol::hardware::{BootMode, System};
use beskar7_machine_uuid::MachineUuid;

use crate::sysfs;

/// What firmware has where nobody filled anything in.
const FILLERS: [&str; 17] = [
    "to be filled by o.e.m.",
    "to be filled by oem",
    "default string",
    "default",
    "none",
    "null",
    "n/a",
    "not specified",
    "not applicable",
    "not available",
    "unknown",
    "system manufacturer",
    "system product name",
    "system serial number",
    "oem",
    "o.e.m.",
    "123456789",
];

/// What firmware says of the machine.
pub fn system(root: &Path) -> System {
    let field =
        |name: &str| sysfs::text(&root.join("sys/class/dmi/id").join(name)).filter(|text| is_real(text));
    System {
        manufacturer: field("sys_vendor"),
        product: field("product_name"),
        serial_number: field("product_serial"),
        uuid: field("product_uuid").and_then(|uuid| MachineUuid::real(&uuid)).map(|uuid| uuid.to_string()),
        firmware_version: field("bios_version"),
        firmware_vendor: field("bios_vendor"),
    }
}

/// Whether somebody wrote it for this machine. One letter again and again (`0000`, `xxxx`, `....`) is nothing either, nor
/// are the digits in a row.
fn is_real(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_row = "01234567890".contains(text.as_str());
    let mut letters = text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    let first = letters.next();
    let is_one_letter = letters.all(|letter| Some(letter) == first);
    !is_row && !is_one_letter && !FILLERS.contains(&text.as_str())
}

/// How firmware started the kernel.
pub fn boot_mode(root: &Path) -> BootMode {
    if root.join("sys/firmware/efi").exists() { BootMode::Uefi } else { BootMode::Bios }
}

/// The version of the TPM.
pub fn tpm(root: &Path) -> Option<String> {
    match sysfs::number(&root.join("sys/class/tpm/tpm0/tpm_version_major"))? {
        1 => Some("1.2".into()),
        major => Some(format!("{major}.0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn what_nobody_filled_in_is_left_out() {
        for (text, expected) in [
            ("Dell Inc.", true),
            ("PowerEdge R640", true),
            ("7", false),
            ("ABC1234", true),
            ("To Be Filled By O.E.M.", false),
            ("Default string", false),
            ("None", false),
            ("Not Specified", false),
            ("0000000000", false),
            ("XXXXXXXX", false),
            ("..............", false),
            ("0123456789", false),
            ("123456789", false),
            ("00000000-0000-0000-0000-000000000000", false),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", false),
        ] {
            assert_eq!(is_real(text), expected, "{text}");
        }
    }

    #[test]
    fn firmware_is_read_from_where_the_kernel_has_it() {
        let tree = Tree::new();
        for (name, text) in [
            ("sys_vendor", "QEMU"),
            ("product_name", "Standard PC (Q35 + ICH9, 2009)"),
            ("product_serial", "Not Specified"),
            ("product_uuid", "4C4C4544-0042-3510-8054-B7C04F303033"),
            ("bios_vendor", "EDK II"),
            ("bios_version", "edk2-20230301"),
        ] {
            tree.file(&format!("sys/class/dmi/id/{name}"), format!("{text}\n"));
        }
        let expected = System {
            manufacturer: Some("QEMU".into()),
            product: Some("Standard PC (Q35 + ICH9, 2009)".into()),
            serial_number: None,
            uuid: Some("4c4c4544-0042-3510-8054-b7c04f303033".into()),
            firmware_version: Some("edk2-20230301".into()),
            firmware_vendor: Some("EDK II".into()),
        };
        assert_eq!(system(tree.root()), expected);
        assert_eq!(system(Tree::new().root()), System::default());
        tree.file("sys/class/dmi/id/product_uuid", "03000200-0400-0500-0006-000700080009");
        assert_eq!(system(tree.root()).uuid, None);
    }

    #[test]
    fn modes_and_versions_are_told_apart() {
        let tree = Tree::new();
        assert_eq!((boot_mode(tree.root()), tpm(tree.root())), (BootMode::Bios, None));
        tree.file("sys/firmware/efi/fw_platform_size", "64")
            .file("sys/class/tpm/tpm0/tpm_version_major", "2\n");
        assert_eq!((boot_mode(tree.root()), tpm(tree.root()).as_deref()), (BootMode::Uefi, Some("2.0")));
        tree.file("sys/class/tpm/tpm0/tpm_version_major", "1\n");
        assert_eq!(tpm(tree.root()).as_deref(), Some("1.2"));
    }
}
