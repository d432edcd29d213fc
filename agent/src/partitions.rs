//! Partition tables, after an image was written: an image ends where its maker's disk did, and the real one goes on.
//!
//! A GPT has a copy of itself at the disk's end, which moves there. A partition for the configuration is appended at the
//! end of the disk. Nothing else becomes larger: that is for the installed system to do.

mod gpt;
mod guid;
mod mbr;

pub use self::{
    gpt::{Gpt, Partition},
    guid::{ESP, Guid},
};

use std::{io, ops::Range};

use crate::target::Staged;

/// What partitions begin at a multiple of.
const ALIGNMENT: u64 = 1 << 20;
/// How long sectors are on nearly all disks, and so in nearly all images.
const USUAL_SECTOR: u64 = 512;

/// A partition that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its length in bytes, at least.
    pub length: u64,
}

/// Why a table can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The disk can't be read or written.
    #[error("{0}")]
    Disk(#[from] io::Error),
    /// The table is not what it should be, or there is no room.
    #[error("{0}")]
    Table(String),
}

impl PartitionError {
    fn table(why: impl Into<String>) -> Self {
        Self::Table(why.into())
    }
}

/// Whether an image's first bytes are for sectors of another length: nothing could be found on such a disk.
///
/// # Errors
/// They are.
pub fn check_sector(first: &[u8], sector: u64) -> Result<(), String> {
    let has_gpt_at = |at: usize| crate::fields::at(first, at, 8) == Some(gpt::SIGNATURE);
    let (own, other) = if sector == 4096 { (4096, 512) } else { (512, 4096) };
    if has_gpt_at(other) && !has_gpt_at(own) {
        return Err(format!(
            "the image is made for sectors of {other} bytes, and those of the disk have {own}: use an image that is made for these, or another disk"
        ));
    }
    Ok(())
}

/// Makes the table of a written disk that of the real disk, with one more partition where one is wanted: its place, in
/// bytes. A disk without any table stays as it is. `written` is how many bytes the image has on the disk.
///
/// # Errors
/// The table is damaged, is for sectors of another length, does not fit the disk, or has no room.
pub fn adapt(
    disk: &mut Staged<'_>,
    sector: u64,
    written: u64,
    wanted: Option<Wanted<'_>>,
) -> Result<Option<Range<u64>>, PartitionError> {
    let mut first = vec![0; usize::try_from(sector).unwrap_or(512)];
    disk.read(0, &mut first)?;
    let table = mbr::Mbr::parse(&first);
    let is_gpt = table.as_ref().is_none_or(mbr::Mbr::is_protective);
    if is_gpt && let Some(mut gpt) = Gpt::read(disk, sector)? {
        gpt.move_backup(disk.length() / sector)?;
        let place = wanted.map(|wanted| gpt.append(wanted)).transpose()?;
        gpt.write(disk)?;
        if let Some(mut mbr) = table {
            mbr.protect(disk.length() / sector);
            disk.write(0, &mbr.sector)?;
        }
        return Ok(place);
    }
    let table = table.filter(|mbr| !mbr.is_protective());
    if let Some(mbr) = &table {
        check_places(mbr, sector, [written, disk.length()])?;
    }
    let Some(wanted) = wanted else { return Ok(None) };
    let Some(mut mbr) = table else {
        let why =
            "the image has no partition table, and so no place for the configuration: use an image with one";
        return Err(PartitionError::table(why));
    };
    let place = mbr.append(wanted, disk.length() / sector, sector)?;
    disk.write(0, &mbr.sector)?;
    Ok(Some(place))
}

/// Whether an MBR is for sectors of another length: it counts in sectors, and does not say how long these are. Nearly all are
/// made for 512 bytes. On a disk with longer ones each partition would begin behind where its content was written, and the
/// last one would end behind the image, or the disk.
fn check_places(mbr: &mbr::Mbr, sector: u64, lengths: [u64; 2]) -> Result<(), PartitionError> {
    let end = mbr.end();
    let is_for_usual = |length: u64| end * USUAL_SECTOR <= length && length < end * sector;
    if lengths.into_iter().any(is_for_usual) {
        return Err(PartitionError::table(format!(
            "the image is made for sectors of {USUAL_SECTOR} bytes, and those of the disk have {sector}: choose another disk \
             by rootDeviceHints, or use an image that is made for these"
        )));
    }
    Ok(())
}

/// The sectors of a partition at the end of what can be used, if nothing is there.
fn place_at_end(used_up_to: u64, end: u64, length: u64, sector: u64) -> Result<Range<u64>, PartitionError> {
    let length = length.next_multiple_of(ALIGNMENT) / sector;
    let alignment = ALIGNMENT / sector;
    let start = end.checked_sub(length).map(|start| start - start % alignment);
    let start = start.filter(|start| *start >= used_up_to && *start > 0).ok_or_else(|| {
        let (needed, left) = (length * sector, end.saturating_sub(used_up_to) * sector);
        PartitionError::table(format!(
            "the configuration needs {needed} bytes at the end of the disk, and {left} are left behind the image's last partition: choose a larger disk"
        ))
    })?;
    Ok(start..start + length)
}

#[cfg(test)]
#[path = "partitions_tests.rs"]
mod tests;
