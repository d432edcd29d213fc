//! Programs that firmware starts: which sections they have, as far as that tells what they are.

use super::walk::Walk;
use crate::overlay::{
    error::OverlayError,
    fields::{at, u16_le, u32_le},
};

/// Headers and section table are within this.
const HEADERS: u64 = 4096;
/// A kernel's command line is shorter, and so is systemd-boot's name.
const LONGEST_SECTION: u64 = 4096;
/// Sections of one program.
const MOST_SECTIONS: usize = 96;

/// What its sections tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executable {
    /// The kernel's parameters in it.
    pub command_line: Option<String>,
    has_kernel: bool,
    name: Option<String>,
}

/// A section: where its content is.
struct Section {
    name: [u8; 8],
    start: u64,
    length: u64,
}

impl Executable {
    /// Looks into a file; nothing when it is no program.
    ///
    /// # Errors
    /// It can't be read.
    pub async fn read(
        walk: &mut Walk<'_, '_>,
        chain: &[u32],
        length: u64,
    ) -> Result<Option<Self>, OverlayError> {
        let headers = walk.content(chain, 0, length.min(HEADERS)).await?;
        let Some(sections) = sections(&headers) else { return Ok(None) };
        let mut program = Self::default();
        for section in sections {
            let field = match &section.name {
                b".linux\0\0" => {
                    program.has_kernel = true;
                    continue;
                }
                b".cmdline" => &mut program.command_line,
                b".sdmagic" => &mut program.name,
                _ => continue,
            };
            let is_within = section.start.checked_add(section.length).is_some_and(|end| end <= length);
            if field.is_none() && is_within && section.length <= LONGEST_SECTION {
                let bytes = walk.content(chain, section.start, section.length).await?;
                *field = text(&bytes);
            }
        }
        Ok(Some(program))
    }

    /// Whether it is a kernel with its parameters.
    pub fn is_unified_kernel(&self) -> bool {
        self.has_kernel
    }

    /// Whether it is systemd-boot. The stub before a unified kernel has such a mark too.
    pub fn is_systemd_boot(&self) -> bool {
        self.name.as_deref().is_some_and(|name| name.contains("systemd-boot"))
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()?;
    Some(text.replace(['\n', '\r', '\t'], " ").trim().to_owned())
}

fn sections(headers: &[u8]) -> Option<Vec<Section>> {
    let start = usize::try_from(u32_le(headers, 0x3C)?).ok()?;
    if at(headers, 0, 2)? != b"MZ" || at(headers, start, 4)? != b"PE\0\0" {
        return None;
    }
    let count = usize::from(u16_le(headers, start + 6)?).min(MOST_SECTIONS);
    let table = start + 24 + usize::from(u16_le(headers, start + 20)?);
    let sections = (0..count).map_while(|index| {
        let section = at(headers, table + index * 40, 40)?;
        let length = u32_le(section, 8)?.min(u32_le(section, 16)?);
        let name = at(section, 0, 8)?.try_into().ok()?;
        Some(Section { name, start: u32_le(section, 20)?.into(), length: length.into() })
    });
    Some(sections.collect())
}
