//! The two disks of a machine: one is meant, and the other one must stay as it is.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use beskar7_e2e::process::Command;
use beskar7_e2e::vm::Disk;
use beskar7_specimen::disk::PARTITION;
use beskar7_volume::iso;
use bytes::Bytes;
use tempfile::TempDir;

use super::system::sha256;
use super::tools::Tools;

const MIB: u64 = 1 << 20;
/// How many bytes each has.
pub const LENGTH: u64 = 96 * MIB;

/// The serial number of the one that is meant.
pub const CHOSEN: &str = "chosen-disk";
/// And that of the other one.
pub const OTHER: &str = "other-disk";

/// Where the other one has a partition.
const USED: u64 = 40 * MIB;
/// What of a partition says what is in it.
const HEAD: u64 = MIB;

const AT_ONCE: Duration = Duration::from_secs(60);

/// The disks. Their files are gone when this is dropped.
pub struct Disks {
    other: Disk,
    chosen: Disk,
    /// The digest of what was on the other one.
    before: String,
    directory: TempDir,
}

impl Disks {
    /// Both as they are after years of use: full of what nobody knows, and a partition on the one that is not meant.
    pub async fn used(tools: &Tools) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-disks-").tempdir()?;
        let disk = |serial| Disk::empty(&directory.path().join(serial), LENGTH, serial);
        let (other, chosen) = (disk(OTHER)?, disk(CHOSEN)?);
        let mut disks = Self { other, chosen, before: String::new(), directory };
        disks.refill(tools).await?;
        Ok(disks)
    }

    /// Makes both so again, while their machine is off.
    pub async fn refill(&mut self, tools: &Tools) -> Result<()> {
        let other = self.other.path();
        fill(&self.other, 7)?;
        fill(&self.chosen, 8)?;
        let file = iso::File { path: "letters", content: Bytes::from_static(b"of somebody") };
        File::options().write(true).open(other)?.write_all_at(&iso::iso("used", &[file])?, USED)?;
        let sgdisk = Command::new("sgdisk", &tools.sgdisk).arg(format!("--new=1:{}:+8M", USED / 512));
        sgdisk.arg(other).run(AT_ONCE).await?.success()?;
        self.before = sha256(&fs::read(other)?);
        Ok(())
    }

    /// Both, in the order in which firmware tries them: the one that is meant comes last.
    pub fn all(&self) -> Vec<Disk> {
        vec![self.other.clone(), self.chosen.clone()]
    }

    /// The one that is meant has what is in the partition of an image, at the same place, and the other one is as it was.
    pub fn have_been_written_as_meant(&self, image: &Path) -> Result<()> {
        // Before and behind it are the image's partition tables, which are made to fit the disk.
        let length = fs::metadata(image)?.len() - PARTITION - MIB;
        let written = part(self.chosen.path(), PARTITION, length)?;
        ensure!(written == part(image, PARTITION, length)?, "another system is on the disk");
        ensure!(sha256(&fs::read(self.other.path())?) == self.before, "the other disk was written to");
        Ok(())
    }

    /// What somebody else finds on both: partition tables, and what is in their partitions.
    pub async fn signatures(&self, tools: &Tools) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for (disk, partition) in [(&self.other, USED), (&self.chosen, PARTITION)] {
            let head = self.at("head");
            fs::write(&head, part(disk.path(), partition, HEAD)?)?;
            for path in [disk.path(), &head] {
                let wipefs = Command::new("wipefs", &tools.wipefs).args(["--no-act", "--noheadings"]);
                let listed = wipefs.args(["--output", "TYPE"]).arg(path).run(AT_ONCE).await?.success()?;
                found.extend(listed.split_whitespace().map(|kind| format!("{}: {kind}", disk.serial())));
            }
        }
        Ok(found)
    }

    /// Whether not a byte is left on them.
    pub fn are_zero(&self) -> Result<bool> {
        let read = |disk: &Disk| fs::read(disk.path()).context("reading a disk");
        Ok(read(&self.other)?.iter().chain(&read(&self.chosen)?).all(|byte| *byte == 0))
    }

    /// Whether these words stand anywhere on the one that is meant, in a partition or not.
    pub fn chosen_has(&self, words: &str) -> Result<bool> {
        let bytes = fs::read(self.chosen.path()).context("reading a disk")?;
        Ok(bytes.windows(words.len()).any(|window| window == words.as_bytes()))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Fills a disk with noise.
fn fill(disk: &Disk, seed: u64) -> Result<()> {
    let mut noise = vec![0; usize::try_from(LENGTH)?];
    fastrand::Rng::with_seed(seed).fill(&mut noise);
    fs::write(disk.path(), &noise).context("filling a disk")
}

/// A part of a file.
fn part(path: &Path, from: u64, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length)?];
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    file.read_exact_at(&mut bytes, from).with_context(|| format!("reading {}", path.display()))?;
    Ok(bytes)
}
