//! Wiping every block of a disk, by the best way that it has.
//!
//! A disk that erases itself also erases what it keeps from us: blocks that it replaced, and old copies of others. Where
//! it can't, or says that it did and did not, the next way is taken; the last one always works on a disk that works.

use beskar7_agent_device::nvme::{Erase, Sanitize};
use beskar7_agent_protocol::{hardware::DiskKind, report::Wiping};

use super::{
    ata,
    marks::{self, Wanted},
    metadata, nvme,
    spans::Span,
    work::Work,
    zeros,
};
use crate::telling::Problem;

/// A way to wipe a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// NVMe's Format.
    Format(Erase),
    /// NVMe's Sanitize.
    Sanitize(Sanitize),
    /// ATA's SECURITY ERASE UNIT; enhanced, or not.
    Security(bool),
    /// All blocks are discarded by a command that promises zeros.
    Punch,
    /// Zeros are written.
    Overwrite,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Format(Erase::UserData) => "NVMe format",
            Self::Format(Erase::Crypto) => "NVMe format with a new key",
            Self::Sanitize(Sanitize::Block) => "NVMe sanitize",
            Self::Sanitize(Sanitize::Crypto) => "NVMe sanitize with a new key",
            Self::Sanitize(Sanitize::GiveUp) => "leaving NVMe sanitize",
            Self::Security(true) => "ATA enhanced secure erase",
            Self::Security(false) => "ATA secure erase",
            Self::Punch => "discarding",
            Self::Overwrite => "overwriting",
        }
    }

    fn method(self) -> Wiping {
        match self {
            Self::Format(_) | Self::Sanitize(_) => Wiping::Nvme,
            Self::Security(_) => Wiping::Ata,
            Self::Punch => Wiping::Discarded,
            Self::Overwrite => Wiping::Overwritten,
        }
    }

    /// What is read afterwards.
    fn leaves(self) -> Wanted {
        match self {
            Self::Format(_) | Self::Sanitize(_) | Self::Security(_) => Wanted::Anything,
            Self::Punch | Self::Overwrite => Wanted::Zeros,
        }
    }
}

/// Wipes a disk, and says how.
///
/// # Errors
/// No way worked: why the last one did not. Or the disk is wiped, and keeps the password by which it was to erase itself.
pub fn wipe(work: &Work<'_>) -> Result<Wiping, Problem> {
    // Broken off, it has taken the table with it: who is content with less then would not know where the partitions were.
    if let Err(problem) = metadata::wipe_partitions(work) {
        work.log(&format!("goes on with its partitions as they are: {}", problem.message));
    }
    let by_password = ata::ways(work);
    let has_had_password = !by_password.is_empty();
    let wiped = wipe_by([nvme::ways(work), by_password, vec![Way::Punch]].concat(), work);
    if !has_had_password {
        return wiped;
    }
    match (wiped, ata::take_password_away(work)) {
        (Ok(method), Ok(())) => Ok(method),
        (Ok(_), Err(lock)) => Err(lock),
        (Err(problem), Ok(())) => Err(problem),
        (Err(problem), Err(lock)) => {
            Err(Problem { message: format!("{}; and {}", problem.message, lock.message), ..problem })
        }
    }
}

fn wipe_by(ways: Vec<Way>, work: &Work<'_>) -> Result<Wiping, Problem> {
    for way in ways {
        work.go_on("wiping")?;
        match try_way(work, way) {
            Ok(()) => return Ok(way.method()),
            Err(problem) => work.log(&format!("is not wiped by {}: {}", way.name(), problem.message)),
        }
    }
    try_way(work, Way::Overwrite).map(|()| Wiping::Overwritten)
}

fn try_way(work: &Work<'_>, way: Way) -> Result<(), Problem> {
    marks::plant(work)?;
    work.log(&format!("is being wiped by {}", way.name()));
    work.progress(way.name(), None);
    match way {
        Way::Format(erase) => nvme::format(work, erase)?,
        Way::Sanitize(how) => nvme::sanitize(work, how)?,
        Way::Security(enhanced) => ata::erase(work, enhanced)?,
        Way::Punch => punch(work)?,
        Way::Overwrite => overwrite(work)?,
    }
    marks::check(work, way.leaves())?;
    metadata::wipe_ends(work)
}

/// A disk is busy for a moment with each piece, and nobody can stop it in one.
const PIECE: u64 = 1024 * 1024 * 1024;

fn punch(work: &Work<'_>) -> Result<(), Problem> {
    const STEP: &str = "discarding";
    let size = work.disk.size_bytes;
    let mut at = 0;
    while at < size {
        work.go_on(STEP)?;
        work.progress(STEP, Some(at));
        let piece = Span::new(at, PIECE).within(size);
        work.device
            .punch(at, piece.length())
            .map_err(|error| work.problem(STEP, format!("it promises no zeros: {error}")))?;
        at = piece.end;
    }
    Ok(())
}

fn overwrite(work: &Work<'_>) -> Result<(), Problem> {
    const STEP: &str = "overwriting";
    /// What may be in memory only.
    const UNSETTLED: u64 = 256 * 1024 * 1024;
    discard_copies(work);
    zeros::write(work, STEP, work.whole(), |at| {
        work.go_on(STEP)?;
        work.progress(STEP, Some(at));
        if at > 0 && at.is_multiple_of(UNSETTLED) { zeros::settle(work, STEP) } else { Ok(()) }
    })?;
    zeros::settle(work, STEP)
}

/// Writing over a block of flash leaves the old copy somewhere. A disk that is told so first may throw it away.
fn discard_copies(work: &Work<'_>) {
    match work.disk.kind {
        DiskKind::Hdd => {}
        DiskKind::Ssd | DiskKind::Nvme => {
            if let Err(error) = work.device.discard(0, work.disk.size_bytes) {
                work.log(&format!("may keep old copies of blocks where nobody can read them: {error}"));
            }
        }
    }
}
