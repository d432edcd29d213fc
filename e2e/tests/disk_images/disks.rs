//! The two disks of a machine: one is meant, and the other one must stay as it is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use beskar7_e2e::vm::Disk;
use beskar7_specimen::disk::PARTITION;
use tempfile::TempDir;

use super::system::sha256;

const MIB: u64 = 1 << 20;
const LENGTH: u64 = 96 * MIB;

/// The serial number of the one that is meant.
pub const CHOSEN: &str = "chosen-disk";

/// The disks. Their files are gone when this is dropped.
pub struct Disks {
    other: Disk,
    chosen: Disk,
    /// The digest of what was on the other one.
    before: String,
    _directory: TempDir,
}

impl Disks {
    /// Both as they are after years of use: full of what nobody knows.
    pub fn used() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-disks-").tempdir()?;
        let disk = |serial| Disk::empty(&directory.path().join(serial), LENGTH, serial);
        let (other, chosen) = (disk("other-disk")?, disk(CHOSEN)?);
        let before = fill(&other, 7)?;
        fill(&chosen, 8)?;
        Ok(Self { other, chosen, before, _directory: directory })
    }

    /// Both, in the order in which firmware tries them: the one that is meant comes last.
    pub fn all(&self) -> Vec<Disk> {
        vec![self.other.clone(), self.chosen.clone()]
    }

    /// The one that is meant has what is in the partition of an image, at the same place, and the other one is as it was.
    pub fn have_been_written_as_meant(&self, image: &Path) -> Result<()> {
        // Before and behind it are the image's partition tables, which are made to fit the disk.
        let length = std::fs::metadata(image)?.len() - PARTITION - MIB;
        ensure!(part(self.chosen.path(), length)? == part(image, length)?, "another system is on the disk");
        ensure!(sha256(&std::fs::read(self.other.path())?) == self.before, "the other disk was written to");
        Ok(())
    }
}

/// Fills a disk with noise, and returns its digest.
fn fill(disk: &Disk, seed: u64) -> Result<String> {
    let mut noise = vec![0; usize::try_from(LENGTH)?];
    fastrand::Rng::with_seed(seed).fill(&mut noise);
    std::fs::write(disk.path(), &noise)?;
    Ok(sha256(&noise))
}

/// So many bytes from where the partition begins.
fn part(path: &Path, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length)?];
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    file.read_exact_at(&mut bytes, PARTITION).with_context(|| format!("reading {}", path.display()))?;
    Ok(bytes)
}
