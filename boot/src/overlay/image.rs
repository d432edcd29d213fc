//! Looks at an image: what its boot loaders read, and where each part of that is written.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::{
    checksums::{self, Checksum},
    disk::{Boot, Gpt, Mbr, boots},
    error::OverlayError,
    fat::Fat,
    iso::{self, FileRecord, NamePlace, SECTOR, Tree, Volumes},
    loader::{Arguments, Kind, is_configuration},
    overlaid::Overlay,
    plan,
    reader::Reader,
};
use crate::source::Source;

/// The largest configuration file that is looked at. Real ones have a few kilobytes.
pub const LARGEST_FILE: u64 = 256 * 1024;
/// Configuration files of one image.
const MOST_FILES: u64 = 256;
/// What is kept of the configuration of one image, in bytes. Real ones have less than a hundred kilobytes.
const MOST_TEXT: u64 = 2 << 20;
/// Kernel lines of one image: all parameters are put on each of them. The largest menus have some hundreds.
const MOST_KERNEL_LINES: u64 = 1024;
/// EFI system partitions of one image.
const MOST_PARTITIONS: usize = 4;

/// What is known of an image's boot loader configuration. It holds that configuration and nothing else of the image:
/// one is enough for all hosts that boot from it.
#[derive(Debug, Clone)]
pub struct Image {
    pub(super) length: u64,
    pub(super) volumes: Volumes,
    pub(super) files: Vec<File>,
    pub(super) partitions: Vec<SystemPartition>,
    pub(super) mbr: Mbr,
    pub(super) gpt: Option<Gpt>,
    pub(super) casper: bool,
}

/// A configuration file in the image's own trees.
#[derive(Debug, Clone)]
pub struct File {
    /// What people call it.
    pub path: String,
    /// Whose it is.
    pub kind: Kind,
    /// What it says.
    pub text: Bytes,
    /// Its first block.
    pub block: u32,
    /// Where its names have its place and length.
    pub places: Vec<NamePlace>,
    /// Its checksums in lists.
    pub checksums: Vec<Checksum>,
}

/// An EFI system partition in the image.
#[derive(Debug, Clone)]
pub struct SystemPartition {
    /// What people call it.
    pub path: String,
    /// What is in it.
    pub fat: Fat,
    /// Where its names have its place and length.
    pub places: Vec<NamePlace>,
    /// The entries of the boot catalog that start it.
    pub boots: Vec<Boot>,
}

/// How much is kept of an image: whoever makes one decides what is in it, and it is kept for all who boot from it.
#[derive(Default)]
struct Budget {
    text: u64,
    kernel_lines: u64,
}

impl Budget {
    fn spend(&mut self, text: usize, kernel_lines: usize) -> Result<(), OverlayError> {
        self.text += text as u64;
        self.kernel_lines += kernel_lines as u64;
        let all = [
            (self.text, "bytes of configuration", MOST_TEXT),
            (self.kernel_lines, "kernel lines", MOST_KERNEL_LINES),
        ];
        match all.into_iter().find(|(spent, _, most)| spent > most) {
            Some((_, what, most)) => Err(OverlayError::TooMuch { what, most }),
            None => Ok(()),
        }
    }
}

/// All names of a file.
type Names = Vec<FileRecord>;

impl Image {
    /// Looks at an image. A few small ranges of it are read, about a hundred at most, however large it is.
    ///
    /// # Errors
    /// It can't be read, is no ISO image, or has nothing in it that can be changed.
    pub async fn inspect(source: &dyn Source) -> Result<Self, OverlayError> {
        let mut reader = Reader::new(source);
        let mut volumes = iso::volumes(&mut reader).await?;
        let mbr = Mbr::parse(&reader.read(0, 512).await?);
        let gpt = Gpt::read(&mut reader).await?;
        let starts: BTreeSet<u64> = mbr.starts().chain(gpt.iter().flat_map(Gpt::starts)).collect();
        for start in starts {
            volumes.trees.extend(iso::partition_trees(&mut reader, start).await?);
        }
        let boots = match volumes.boot_catalog {
            Some(block) => boots(&mut reader, block).await?,
            None => Vec::new(),
        };
        let (names, top) = all_names(&mut reader, &volumes).await?;
        let mut budget = Budget::default();
        let files = configuration(&mut reader, &names, &mut budget).await?;
        let starts = system_partitions(&boots, gpt.as_ref(), &mbr);
        let partitions = read_partitions(&mut reader, &starts, (&boots, &names), &mut budget).await?;
        let casper = top.contains("casper");
        let image = Self { length: source.length(), volumes, files, partitions, mbr, gpt, casper };
        image.check()?;
        Ok(image)
    }

    /// What has to differ so that every kernel that the image's boot loaders start gets these parameters. Each is one
    /// parameter as it stands on a kernel's command line, in ASCII, its double quotes closed.
    ///
    /// # Errors
    /// A boot loader can't hand one of them over, or there is no room for them.
    pub fn with_arguments(&self, arguments: &[String]) -> Result<Overlay, OverlayError> {
        plan::overlay(self, arguments)
    }

    /// Whether there is a kernel line in it at all, and none that firmware starts without a boot loader.
    fn check(&self) -> Result<(), OverlayError> {
        for partition in &self.partitions {
            if let Some(file) = partition.fat.started_by_firmware() {
                return Err(OverlayError::UnifiedKernel(file.to_owned()));
            }
        }
        let in_files = self.files.iter().any(|file| kernel_lines(file.kind, &file.text) > 0);
        let in_partitions = self.partitions.iter().any(|partition| partition.fat.has_kernel());
        if in_files || in_partitions { Ok(()) } else { Err(OverlayError::NothingToChange) }
    }
}

/// How many kernel lines a file has.
pub fn kernel_lines(kind: Kind, text: &[u8]) -> usize {
    kind.edit(text, &Arguments::default()).map_or(0, |edited| edited.kernel_lines)
}

/// The files of all trees, by place and length, and the names at the top.
async fn all_names(
    reader: &mut Reader<'_>,
    volumes: &Volumes,
) -> Result<(BTreeMap<(u32, u32), Names>, BTreeSet<String>), OverlayError> {
    let mut names: BTreeMap<(u32, u32), Names> = BTreeMap::new();
    let mut top = BTreeSet::new();
    let mut roots = BTreeSet::new();
    for volume in &volumes.trees {
        // An enhanced descriptor may name the primary tree once more.
        if !roots.insert(volume.root) {
            continue;
        }
        let found = iso::walk(reader, volume).await?;
        top.extend(found.top);
        for file in found.files {
            names.entry((file.block, file.length)).or_default().push(file);
        }
    }
    for records in names.values_mut() {
        // Rock Ridge's name first, then Joliet's.
        let rank = |record: &FileRecord| (!record.rock_ridge, record.tree != Tree::Joliet, record.tree);
        records.sort_by_key(rank);
    }
    Ok((names, top))
}

/// Reads the configuration files, with their checksums.
async fn configuration(
    reader: &mut Reader<'_>,
    names: &BTreeMap<(u32, u32), Names>,
    budget: &mut Budget,
) -> Result<Vec<File>, OverlayError> {
    let mut files = Vec::new();
    for ((block, length), records) in names {
        let Some(record) = records.iter().find(|record| is_configuration(&record.path)) else { continue };
        let length = u64::from(*length);
        if length > LARGEST_FILE {
            continue;
        }
        if files.len() as u64 == MOST_FILES {
            return Err(OverlayError::TooMuch { what: "configuration files", most: MOST_FILES });
        }
        let text = reader.read(u64::from(*block) * SECTOR, length).await?;
        let Some(kind) = Kind::of(&record.path, &text) else { continue };
        // A file of which nothing would be changed is of no interest.
        let Some(kernel_lines) = changed_lines(kind, &text) else { continue };
        budget.spend(text.len(), kernel_lines)?;
        let places = records.iter().map(|record| record.place).collect();
        files.push(File {
            path: record.path.clone(),
            kind,
            text,
            block: *block,
            places,
            checksums: Vec::new(),
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    add_checksums(reader, names, &mut files).await?;
    Ok(files)
}

/// How many kernel lines a file has in which something would be changed; nothing where it would stay as it is.
fn changed_lines(kind: Kind, text: &[u8]) -> Option<usize> {
    let some = Arguments::new(&["x".to_owned()]);
    let edited = kind.edit(text, &some).ok()?;
    (edited.text != text).then_some(edited.kernel_lines)
}

async fn add_checksums(
    reader: &mut Reader<'_>,
    names: &BTreeMap<(u32, u32), Names>,
    files: &mut [File],
) -> Result<(), OverlayError> {
    for ((block, length), records) in names {
        if !records.iter().any(|record| checksums::is_list(&record.path)) {
            continue;
        }
        // A list has one line for each name of a file.
        let mut by_path: BTreeMap<String, usize> = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            let all = names
                .values()
                .filter(|records| records.first().is_some_and(|record| record.block == file.block));
            by_path.extend(all.flatten().map(|record| (record.path.to_lowercase(), index)));
        }
        let start = u64::from(*block) * SECTOR;
        let found =
            checksums::read(reader, start, u64::from(*length), |path| by_path.contains_key(path)).await?;
        for (path, checksum) in found {
            if let Some(file) = by_path.get(&path).and_then(|index| files.get_mut(*index)) {
                file.checksums.push(checksum);
            }
        }
    }
    Ok(())
}

/// Where EFI system partitions may begin.
fn system_partitions(boots: &[Boot], gpt: Option<&Gpt>, mbr: &Mbr) -> Vec<u64> {
    let mut starts: Vec<u64> =
        boots.iter().filter(|boot| boot.uefi).map(|boot| u64::from(boot.block) * SECTOR).collect();
    starts.extend(gpt.into_iter().flat_map(Gpt::system_partitions));
    starts.extend(mbr.system_partitions());
    let mut seen = BTreeSet::new();
    starts.retain(|start| *start > 0 && seen.insert(*start));
    starts.truncate(MOST_PARTITIONS);
    starts
}

async fn read_partitions(
    reader: &mut Reader<'_>,
    starts: &[u64],
    (boots, names): (&[Boot], &BTreeMap<(u32, u32), Names>),
    budget: &mut Budget,
) -> Result<Vec<SystemPartition>, OverlayError> {
    let mut partitions = Vec::new();
    for start in starts {
        let Some(fat) = Fat::read(reader, *start).await? else { continue };
        budget.spend(fat.text_length(), fat.kernel_lines())?;
        let is_it = |block: u32| u64::from(block) * SECTOR == *start;
        let records: Vec<&FileRecord> =
            names.iter().filter(|((block, _), _)| is_it(*block)).flat_map(|(_, records)| records).collect();
        let path =
            records.first().map_or_else(|| "EFI system partition".to_owned(), |record| record.path.clone());
        let places = records.iter().map(|record| record.place).collect();
        let boots = boots.iter().filter(|boot| boot.uefi && is_it(boot.block)).cloned().collect();
        partitions.push(SystemPartition { path, fat, places, boots });
    }
    Ok(partitions)
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
