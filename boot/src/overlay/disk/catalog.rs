//! El Torito: the catalog of what firmware can start from a CD.

use crate::overlay::{
    error::{OverlayError, damaged},
    fields::{at, u8_at, u16_le, u32_le},
    reader::Reader,
};

const SECTOR: u64 = 2048;
/// Bytes of an entry.
const ENTRY: usize = 32;
/// The platform number of UEFI.
const UEFI: u8 = 0xEF;

/// Something that firmware can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Where the entry is in the image.
    pub at: u64,
    /// Whether it is for UEFI.
    pub uefi: bool,
    /// The number of blocks of 512 bytes that is to be loaded. Often it is not the true one.
    pub count: u16,
    /// The first block, of 2048 bytes.
    pub block: u32,
}

impl Boot {
    /// Where the entry has its count, and behind that its block.
    pub fn count_at(&self) -> u64 {
        self.at + 6
    }
}

/// Reads a catalog. It is one sector long.
///
/// # Errors
/// It can't be read, or is none.
pub async fn boots(reader: &mut Reader<'_>, block: u32) -> Result<Vec<Boot>, OverlayError> {
    let start = u64::from(block) * SECTOR;
    let catalog = reader.read(start, SECTOR).await?;
    parse(&catalog, start).ok_or_else(|| damaged("its El Torito boot catalog is none"))
}

fn parse(catalog: &[u8], start: u64) -> Option<Vec<Boot>> {
    let entry = |index: usize| at(catalog, index * ENTRY, ENTRY);
    let validation = entry(0)?;
    if u8_at(validation, 0)? != 1 || at(validation, 30, 2)? != [0x55, 0xAA] {
        return None;
    }
    let mut boots = Vec::new();
    let mut uefi = u8_at(validation, 1)? == UEFI;
    let mut last_section = false;
    for index in 1..catalog.len() / ENTRY {
        let entry = entry(index)?;
        match u8_at(entry, 0)? {
            0x90 | 0x91 if !last_section => {
                last_section = u8_at(entry, 0)? == 0x91;
                uefi = u8_at(entry, 1)? == UEFI;
            }
            0x88 => boots.push(Boot {
                at: start + (index * ENTRY) as u64,
                uefi,
                count: u16_le(entry, 6)?,
                block: u32_le(entry, 8)?,
            }),
            // An extension of an entry.
            0x44 => {}
            _ if index > 1 => break,
            _ => {}
        }
    }
    Some(boots)
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
