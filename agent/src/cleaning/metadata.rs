//! Wiping what makes a disk look used: partition tables, and the signatures of what was in the partitions.

use super::{spans::Span, work::Work, zeros};
use crate::telling::Problem;

const STEP: &str = "wiping signatures";

/// Wipes the ends of all partitions, then those of the disk.
///
/// The partitions come first: with the same partitions made again, what was in them would be there again. As long as they
/// are not wiped, the table stays: after a power cut they are found once more.
///
/// # Errors
/// The disk fails.
pub fn wipe(work: &Work<'_>) -> Result<(), Problem> {
    let inner = wipe_partitions(work)?;
    wipe_ends(work)?;
    inner.into_iter().try_for_each(|span| zeros::check(work, span))
}

/// Wipes the ends of all partitions, and says where that was.
///
/// # Errors
/// The disk fails.
pub fn wipe_partitions(work: &Work<'_>) -> Result<Vec<Span>, Problem> {
    work.progress(STEP, None);
    let partitions = work
        .devices
        .partitions(work.disk)
        .map_err(|error| work.problem(STEP, format!("its partitions can't be listed: {error}")))?;
    let inner = partitions.into_iter().map(|partition| partition.within(work.disk.size_bytes));
    let inner: Vec<Span> = inner.flat_map(Span::ends).collect();
    write(work, &inner)?;
    Ok(inner)
}

/// Wipes the ends of the disk, has the kernel forget its partitions, and reads the ends back.
///
/// # Errors
/// The disk fails.
pub fn wipe_ends(work: &Work<'_>) -> Result<(), Problem> {
    let outer = work.whole().ends();
    write(work, &outer)?;
    work.device.reread_partitions().map_err(|error| {
        work.problem(STEP, format!("the kernel does not let go of its old partitions: {error}"))
    })?;
    outer.into_iter().try_for_each(|span| zeros::check(work, span))
}

fn write(work: &Work<'_>, spans: &[Span]) -> Result<(), Problem> {
    for span in spans {
        zeros::write(work, STEP, *span, |_| work.go_on(STEP))?;
    }
    zeros::settle(work, STEP)
}
