//! What UEFI firmware is told by its variables: to boot from a URL, once.
//!
//! A BMC that is asked for this writes the same. The place of the variables is a flash volume with one store in it
//! (`MdeModulePkg`'s authenticated format), and those of a new machine are empty.

use anyhow::{Context, Result, ensure};

/// The volume's header, and the store's.
const VOLUME: usize = 72;
const STORE: usize = 28;
/// Where the store's header has its size.
const STORE_SIZE: usize = 16;

/// Written, and not deleted.
const VALID: u8 = 0x3f;
/// Kept, and there for boot loaders and systems.
const ATTRIBUTES: u32 = 7;
/// 8be4df61-93ca-11d2-aa0d-00e098032b8c: the specification's own variables.
const GLOBAL: [u8; 16] =
    [0x61, 0xdf, 0xe4, 0x8b, 0xca, 0x93, 0xd2, 0x11, 0xaa, 0x0d, 0x00, 0xe0, 0x98, 0x03, 0x2b, 0x8c];
/// The number of the boot option.
const OPTION: u16 = 0x00b7;

/// The variables of a new machine, whose next boot is from this URL.
pub(super) fn next_boot_from(url: &str, new: &[u8]) -> Result<Vec<u8>> {
    let size = new.get(VOLUME + STORE_SIZE..).and_then(|rest| rest.first_chunk()).context("no variables")?;
    let end = VOLUME + u32::from_le_bytes(*size) as usize;
    let written = [
        variable(&format!("Boot{OPTION:04X}"), &boot_option(url)?)?,
        variable("BootNext", &OPTION.to_le_bytes())?,
    ];
    let written = written.concat();
    let begin = VOLUME + STORE;
    let place = new.get(begin..begin + written.len()).filter(|_| begin + written.len() <= end);
    ensure!(place.is_some_and(|place| place.iter().all(|byte| *byte == 0xff)), "the variables are not empty");
    let mut bytes = new.to_vec();
    bytes.splice(begin..begin + written.len(), written);
    Ok(bytes)
}

fn variable(name: &str, data: &[u8]) -> Result<Vec<u8>> {
    let name = utf16(name);
    let mut bytes = vec![0xaa, 0x55, VALID, 0];
    bytes.extend(ATTRIBUTES.to_le_bytes());
    // A counter, a time and a key's number, all for signed variables only.
    bytes.extend([0; 8 + 16 + 4]);
    bytes.extend(u32::try_from(name.len())?.to_le_bytes());
    bytes.extend(u32::try_from(data.len())?.to_le_bytes());
    bytes.extend(GLOBAL);
    bytes.extend(name);
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0xff);
    Ok(bytes)
}

/// An EFI_LOAD_OPTION whose path is a URL alone: firmware finds the network card.
fn boot_option(url: &str) -> Result<Vec<u8>> {
    const ACTIVE: u32 = 1;
    const MESSAGING: u8 = 3;
    const URI: u8 = 24;
    const END: [u8; 4] = [0x7f, 0xff, 4, 0];
    let mut path = vec![MESSAGING, URI];
    path.extend(u16::try_from(4 + url.len())?.to_le_bytes());
    path.extend(url.bytes());
    path.extend(END);
    let mut option = ACTIVE.to_le_bytes().to_vec();
    option.extend(u16::try_from(path.len())?.to_le_bytes());
    option.extend(utf16("HTTP boot"));
    option.extend(path);
    Ok(option)
}

/// With a zero behind it.
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Vec<u8> {
        let mut bytes = vec![0; VOLUME + STORE];
        bytes[VOLUME + STORE_SIZE..][..4].copy_from_slice(&1024_u32.to_le_bytes());
        bytes.resize(2048, 0xff);
        bytes
    }

    #[test]
    fn an_option_and_its_turn_stand_one_behind_the_other() {
        let bytes = next_boot_from("http://b/x.efi", &empty()).unwrap();
        assert_eq!(bytes.len(), 2048);
        let first = &bytes[VOLUME + STORE..];
        assert_eq!(first[..4], [0xaa, 0x55, VALID, 0]);
        // The header, the name `Boot00B7`, and the option's own header and name.
        assert_eq!(first[60 + 18 + 6 + 20..][..18], *b"\x03\x18\x12\0http://b/x.efi");
        let second = &first[(60_usize + 18 + 6 + 20 + 18 + 4).next_multiple_of(4)..];
        assert_eq!(second[..3], [0xaa, 0x55, VALID]);
        assert_eq!(second[60 + 18..][..2], [0xb7, 0]);
    }

    #[test]
    fn variables_that_are_in_use_or_too_small_are_left_alone() {
        let mut used = empty();
        used[VOLUME + STORE] = 0xaa;
        assert!(next_boot_from("http://b/x.efi", &used).is_err());
        assert!(next_boot_from(&"x".repeat(1000), &empty()).is_err());
        assert!(next_boot_from("http://b/x.efi", &[]).is_err());
    }
}
