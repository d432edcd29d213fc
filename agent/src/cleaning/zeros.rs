//! Writing zeros, and reading them back.

use super::{spans::Span, work::Work};
use crate::telling::Problem;

/// How much is written and read at once.
const BLOCK: u64 = 1024 * 1024;

/// Blocks of a span, in order.
fn blocks(span: Span) -> impl Iterator<Item = Span> {
    let starts = std::iter::successors(Some(span.start), |start| start.checked_add(BLOCK));
    starts
        .take_while(move |start| *start < span.end)
        .map(move |start| Span { start, end: start.saturating_add(BLOCK).min(span.end) })
}

fn buffer(span: Span) -> Vec<u8> {
    vec![0; usize::try_from(span.length().min(BLOCK)).unwrap_or(0)]
}

/// The beginning of a buffer, as long as a block.
fn part(buffer: &[u8], block: Span) -> &[u8] {
    let length = usize::try_from(block.length()).unwrap_or(usize::MAX);
    buffer.get(..length).unwrap_or(buffer)
}

/// Writes zeros. `every` is called before each block, with where it begins.
///
/// # Errors
/// The disk can't write, or `every` wants no more.
pub fn write(
    work: &Work<'_>,
    step: &'static str,
    span: Span,
    mut every: impl FnMut(u64) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let zeros = buffer(span);
    for block in blocks(span) {
        every(block.start)?;
        work.device.write(block.start, part(&zeros, block)).map_err(|error| {
            work.problem(
                step,
                format!("it can't be written at byte {}: {error}; replace the disk", block.start),
            )
        })?;
    }
    Ok(())
}

/// Waits until all is on the disk.
///
/// # Errors
/// The disk failed to write something.
pub fn settle(work: &Work<'_>, step: &'static str) -> Result<(), Problem> {
    let failed =
        |error| work.problem(step, format!("what was written did not reach it: {error}; replace the disk"));
    work.device.settle().map_err(failed)
}

/// Reads zeros.
///
/// # Errors
/// The disk can't read, or there is something else.
pub fn check(work: &Work<'_>, span: Span) -> Result<(), Problem> {
    const STEP: &str = "verifying";
    let zeros = buffer(span);
    let mut read = zeros.clone();
    for block in blocks(span) {
        let length = part(&zeros, block).len();
        let read = read.get_mut(..length).unwrap_or_default();
        work.device.read(block.start, read).map_err(|error| {
            work.problem(
                STEP,
                format!("it can't be read back at byte {}: {error}; replace the disk", block.start),
            )
        })?;
        if *read != *part(&zeros, block) {
            let text = format!(
                "zeros were written, but something else is read within the {length} bytes at byte {}; replace the disk",
                block.start
            );
            return Err(work.problem(STEP, text));
        }
    }
    Ok(())
}
