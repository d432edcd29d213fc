//! Looks through the directories of a FAT file system.

use std::collections::{BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};

use super::{
    File, Unified,
    directory::{Directory, Entry},
    geometry::Geometry,
    pe::Executable,
    table::Table,
};
use crate::overlay::{
    error::{OverlayError, damaged},
    image::LARGEST_FILE,
    iso::is_worth_a_look,
    loader::{Kind, is_configuration},
    reader::Reader,
};

/// Directories of one file system.
const MOST_DIRECTORIES: u64 = 128;
/// Bytes of one directory.
const LARGEST_DIRECTORY: u64 = 256 * 1024;
/// Configuration files of one file system.
const MOST_FILES: u64 = 128;
/// Programs whose headers are looked at.
const MOST_PROGRAMS: usize = 16;

/// What was found.
#[derive(Default)]
pub struct Walked {
    /// Configuration.
    pub files: Vec<File>,
    /// The directories in which entries are made.
    pub directories: Vec<Directory>,
    /// What systemd-boot starts.
    pub unified: Option<Unified>,
    /// What firmware starts.
    pub started_by_firmware: Option<String>,
}

/// A file system that is being looked at.
pub struct Walk<'a, 'b> {
    /// The image.
    pub reader: &'a mut Reader<'b>,
    start: u64,
    geometry: &'a Geometry,
    table: &'a Table,
}

/// Looks for configuration and kernels.
///
/// # Errors
/// It can't be read, or is damaged.
pub async fn walk(
    reader: &mut Reader<'_>,
    start: u64,
    geometry: &Geometry,
    table: &Table,
) -> Result<Walked, OverlayError> {
    let mut walk = Walk { reader, start, geometry, table };
    let mut walked = Walked::default();
    let mut programs: Vec<(String, Entry)> = Vec::new();
    let mut waiting = VecDeque::from([walk.root().await?]);
    let mut seen = BTreeSet::new();
    while let Some(directory) = waiting.pop_front() {
        for entry in directory.entries() {
            let path = join(&directory.path, &entry.name);
            if entry.directory {
                let is_new = seen.insert(entry.cluster);
                if seen.len() as u64 > MOST_DIRECTORIES {
                    return Err(OverlayError::TooMuch { what: "directories", most: MOST_DIRECTORIES });
                }
                if is_new && is_worth_a_look(&path) {
                    waiting.push_back(walk.directory(path, entry.cluster).await?);
                }
            } else if is_configuration(&path) {
                walk.configuration(&directory, path, &entry, &mut walked).await?;
            } else if is_program(&path) {
                programs.push((path, entry));
            }
        }
        if ["", "loader", "loader/entries"].contains(&directory.path.to_lowercase().as_str()) {
            walked.directories.push(directory);
        }
    }
    walk.programs(programs, &mut walked).await?;
    Ok(walked)
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// What firmware or systemd-boot start by themselves.
fn is_program(path: &str) -> bool {
    let path = path.to_lowercase();
    path.ends_with(".efi") && (path.starts_with("efi/linux/") || is_for_firmware(&path))
}

/// What firmware starts from a medium that it does not know.
fn is_for_firmware(path: &str) -> bool {
    let path = path.to_lowercase();
    path.strip_prefix("efi/boot/boot").is_some_and(|rest| !rest.contains('/'))
}

impl Walk<'_, '_> {
    async fn root(&mut self) -> Result<Directory, OverlayError> {
        if self.geometry.root_cluster > 0 {
            return self.directory(String::new(), self.geometry.root_cluster).await;
        }
        let length = self.geometry.root_sectors * self.geometry.sector;
        let bytes = self.reader.read(self.start + self.geometry.root_at(), length).await?;
        Ok(Directory { path: String::new(), chain: Vec::new(), bytes })
    }

    async fn directory(&mut self, path: String, cluster: u32) -> Result<Directory, OverlayError> {
        let most = LARGEST_DIRECTORY / self.geometry.cluster();
        let chain = self.table.chain(self.geometry, cluster, most.max(1))?;
        let length = chain.len() as u64 * self.geometry.cluster();
        let bytes = self.content(&chain, 0, length).await?;
        Ok(Directory { path, chain, bytes })
    }

    /// The clusters of a file.
    fn chain(&self, entry: &Entry) -> Result<Vec<u32>, OverlayError> {
        let clusters = u64::from(entry.length).div_ceil(self.geometry.cluster());
        let chain = self.table.chain(self.geometry, entry.cluster, clusters)?;
        if chain.len() as u64 == clusters {
            return Ok(chain);
        }
        Err(damaged("a file in its EFI system partition is longer than its chain of clusters"))
    }

    /// Some bytes of a file. Clusters that lie side by side are read at once.
    pub async fn content(&mut self, chain: &[u32], from: u64, length: u64) -> Result<Bytes, OverlayError> {
        let cluster = self.geometry.cluster();
        let mut all = BytesMut::new();
        let mut at = from;
        let end = from.saturating_add(length);
        while at < end {
            let rest =
                usize::try_from(at / cluster).ok().and_then(|index| chain.get(index..)).unwrap_or_default();
            let first =
                *rest.first().ok_or_else(|| damaged("a file in its EFI system partition ends early"))?;
            let together =
                (first..).zip(rest).take_while(|(expected, next)| expected == *next).count() as u64;
            let until = end.min((at / cluster + together) * cluster);
            let place = self.geometry.at(super::Place::Cluster(first, at % cluster));
            all.extend_from_slice(&self.reader.read(self.start + place, until - at).await?);
            at = until;
        }
        Ok(all.freeze())
    }

    async fn configuration(
        &mut self,
        directory: &Directory,
        path: String,
        entry: &Entry,
        walked: &mut Walked,
    ) -> Result<(), OverlayError> {
        let length = u64::from(entry.length);
        if length == 0 || length > LARGEST_FILE {
            return Ok(());
        }
        if walked.files.len() as u64 == MOST_FILES {
            return Err(OverlayError::TooMuch { what: "configuration files", most: MOST_FILES });
        }
        let chain = self.chain(entry)?;
        let text = self.content(&chain, 0, length).await?;
        let place = directory.place(entry.at, self.geometry.cluster());
        if let Some((kind, entry)) = Kind::of(&path, &text).zip(place) {
            walked.files.push(File { path, kind, text, chain, entry });
        }
        Ok(())
    }

    /// Looks into programs: who starts the kernel?
    async fn programs(
        &mut self,
        mut all: Vec<(String, Entry)>,
        walked: &mut Walked,
    ) -> Result<(), OverlayError> {
        // The newest of several is what systemd-boot starts.
        all.sort_by(|a, b| b.0.cmp(&a.0));
        let mut unified = None;
        let mut is_systemd_boot = false;
        for (path, entry) in all.iter().take(MOST_PROGRAMS) {
            let chain = self.chain(entry)?;
            let Some(program) = Executable::read(self, &chain, entry.length.into()).await? else { continue };
            if is_for_firmware(path) {
                is_systemd_boot |= program.is_systemd_boot();
                if program.is_unified_kernel() {
                    walked.started_by_firmware = Some(path.clone());
                }
            } else if unified.is_none() && program.is_unified_kernel() {
                let command_line = program.command_line.unwrap_or_default();
                unified = Some(Unified { path: path.clone(), command_line });
            }
        }
        walked.unified = unified.filter(|_| is_systemd_boot);
        Ok(())
    }
}
