//! Places all over a disk by which it is seen whether a disk did what it says.
//!
//! Before a disk is told to erase itself, something is written to some hundred places; afterwards it must be gone. Without
//! that, an empty place would prove nothing: it was empty before.

use super::{work::Work, zeros};
use crate::telling::Problem;

/// How many places, besides the first and the last.
const PLACES: usize = 254;
/// No disk writes less at once.
const LENGTH: u64 = 4096;
/// What is written: no disk's pattern.
const TEXT: &[u8] = b"beskar7: this was to be erased. ";

/// What must be read where the marks were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Zeros.
    Zeros,
    /// Anything else: a disk with a new key reads as noise, and cells may read as ones.
    Anything,
}

/// The places on a disk of this size, in their order. They are the same each time.
pub fn places(size: u64) -> Vec<u64> {
    let Some(last) = (size / LENGTH).checked_sub(1) else { return Vec::new() };
    let mut random = fastrand::Rng::with_seed(size);
    let mut blocks: Vec<u64> = (0..PLACES).map(|_| random.u64(0..=last)).chain([0, last]).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.into_iter().map(|block| block * LENGTH).collect()
}

fn mark() -> Vec<u8> {
    TEXT.iter().copied().cycle().take(LENGTH as usize).collect()
}

/// Writes the marks, and reads them back: one that never was there proves nothing by not being there.
///
/// # Errors
/// The disk can't write, or does not keep what is written.
pub fn plant(work: &Work<'_>) -> Result<(), Problem> {
    const STEP: &str = "marking";
    let mark = mark();
    for place in places(work.disk.size_bytes) {
        work.device.write(place, &mark).map_err(|error| {
            work.problem(STEP, format!("it can't be written at byte {place}: {error}; replace the disk"))
        })?;
    }
    each(work, STEP, |read| *read == *mark, "what was written is not there")
}

/// Reads the places.
///
/// # Errors
/// Something else is there than it should be, or the disk can't read.
pub fn check(work: &Work<'_>, wanted: Wanted) -> Result<(), Problem> {
    let (mark, nothing) = (mark(), vec![0; LENGTH as usize]);
    let fits = |read: &[u8]| match wanted {
        Wanted::Zeros => *read == *nothing,
        Wanted::Anything => *read != *mark,
    };
    each(work, "verifying", fits, "it was not erased")
}

/// Reads each place from the disk, and looks at it.
fn each(
    work: &Work<'_>,
    step: &'static str,
    fits: impl Fn(&[u8]) -> bool,
    otherwise: &str,
) -> Result<(), Problem> {
    zeros::settle(work, step)?;
    let mut read = vec![0; LENGTH as usize];
    for place in places(work.disk.size_bytes) {
        work.device
            .read(place, &mut read)
            .map_err(|error| work.problem(step, format!("it can't be read back at byte {place}: {error}")))?;
        if !fits(&read) {
            return Err(work.problem(step, format!("{otherwise} at byte {place}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_on_the_disk_and_all_over_it() {
        for (size, least, most) in [(0, 0, 0), (4095, 0, 0), (4096, 1, 1), (8192, 2, 2), (1 << 40, 250, 256)]
        {
            let places = places(size);
            assert!((least..=most).contains(&places.len()), "{size}: {}", places.len());
            assert!(places.iter().all(|place| place + LENGTH <= size && place % LENGTH == 0), "{size}");
            assert_eq!(places.first().copied().unwrap_or(0), 0);
        }
        let many = places(1 << 40);
        assert_eq!(many.last(), Some(&((1 << 40) - LENGTH)));
        for eighth in 0..8 {
            let here = many.iter().filter(|place| *place >> 37 == eighth).count();
            assert!(here > 10, "{eighth}: {here}");
        }
    }
}
