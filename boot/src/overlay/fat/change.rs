//! Changes of a FAT file system.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;

use super::{Fat, File, Place, Rebuilt, geometry::Geometry, table::ChangedTable};
use crate::overlay::{assembly::What, error::OverlayError, fields::put};

/// Where the length is in a directory entry.
const LENGTH: u64 = 28;

/// A file system that is being changed.
pub struct Change<'a> {
    fat: &'a Fat,
    table: ChangedTable<'a>,
    /// Whole clusters.
    clusters: BTreeMap<u32, Vec<u8>>,
    /// Parts of clusters, or of the root directory.
    parts: BTreeMap<Place, Vec<u8>>,
    /// The cluster from which on free ones are looked for.
    next: u32,
    /// How many of the free ones are left.
    free: Option<u32>,
    changed_files: Vec<String>,
    /// The clusters of changed files, and how much of each is content.
    content: Vec<(u32, u64)>,
}

impl<'a> Change<'a> {
    /// Nothing has changed yet.
    pub fn new(fat: &'a Fat) -> Self {
        Self {
            fat,
            table: ChangedTable::new(&fat.table),
            clusters: BTreeMap::new(),
            parts: BTreeMap::new(),
            next: 2,
            free: fat.free,
            changed_files: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Bytes of a cluster.
    pub fn cluster_length(&self) -> u64 {
        self.fat.geometry.cluster()
    }

    /// The first cluster of the root directory; 0 where it is no file.
    pub fn root_cluster(&self) -> u32 {
        self.fat.geometry.root_cluster
    }

    /// Gives a file other content.
    ///
    /// # Errors
    /// There is no room.
    pub fn replace(&mut self, file: &File, text: &[u8]) -> Result<(), OverlayError> {
        let needed = (text.len() as u64).div_ceil(self.cluster_length()).max(1);
        let mut chain = file.chain.clone();
        let kept = usize::try_from(needed).unwrap_or(usize::MAX);
        for cluster in chain.drain(kept.min(chain.len())..) {
            self.table.set(cluster, 0);
            self.free = self.free.map(|free| free + 1);
        }
        while (chain.len() as u64) < needed {
            let cluster = self.allocate()?;
            chain.push(cluster);
        }
        self.link(&chain);
        self.fill(&chain, text);
        self.changed_files.push(file.path.clone());
        let length = u32::try_from(text.len()).map_err(|_| OverlayError::TooLarge)?;
        self.write(moved(file.entry, LENGTH), &length.to_le_bytes());
        Ok(())
    }

    /// A new file's content; says where it begins.
    ///
    /// # Errors
    /// There is no room.
    pub fn create(&mut self, path: String, text: &[u8]) -> Result<u32, OverlayError> {
        let mut chain = vec![self.allocate()?];
        while (chain.len() as u64) * self.cluster_length() < text.len() as u64 {
            let cluster = self.allocate()?;
            chain.push(cluster);
        }
        self.link(&chain);
        self.fill(&chain, text);
        self.changed_files.push(path);
        Ok(chain.first().copied().unwrap_or_default())
    }

    /// A cluster that is empty, behind `last` where there is one.
    ///
    /// # Errors
    /// There is none.
    pub fn empty_cluster(&mut self, last: Option<u32>) -> Result<u32, OverlayError> {
        let cluster = self.allocate()?;
        self.clusters.insert(cluster, vec![0; usize::try_from(self.cluster_length()).unwrap_or_default()]);
        self.table.set(cluster, self.fat.geometry.width.last());
        if let Some(last) = last {
            self.table.set(last, cluster);
        }
        Ok(cluster)
    }

    /// Writes a part of something.
    pub fn write(&mut self, place: Place, bytes: &[u8]) {
        if let Place::Cluster(cluster, offset) = place
            && let Some(content) = self.clusters.get_mut(&cluster)
        {
            put(content, usize::try_from(offset).unwrap_or(usize::MAX), bytes);
            return;
        }
        self.parts.insert(place, bytes.to_vec());
    }

    /// The next free cluster, or a new one behind all others.
    fn allocate(&mut self) -> Result<u32, OverlayError> {
        let geometry = &self.fat.geometry;
        while geometry.has(self.next) {
            let cluster = self.next;
            self.next += 1;
            if self.fat.table.get(cluster) == Some(0) {
                self.free = self.free.map(|free| free.saturating_sub(1));
                return Ok(cluster);
            }
        }
        let cluster = self.next;
        if cluster - 2 >= geometry.width.most_clusters() {
            let what = format!("it has as many clusters as a FAT of {} bits can", geometry.width.bits());
            return Err(OverlayError::Full(what));
        }
        self.next += 1;
        Ok(cluster)
    }

    fn link(&mut self, chain: &[u32]) {
        let last = self.fat.geometry.width.last();
        let next = chain.iter().skip(1).copied().chain([last]);
        for (cluster, next) in chain.iter().zip(next) {
            if self.fat.table.get(*cluster) != Some(next) {
                self.table.set(*cluster, next);
            }
        }
    }

    fn fill(&mut self, chain: &[u32], text: &[u8]) {
        let length = usize::try_from(self.cluster_length()).unwrap_or(usize::MAX);
        for (cluster, part) in chain.iter().zip(text.chunks(length)) {
            self.content.push((*cluster, part.len() as u64));
            let mut whole = part.to_vec();
            whole.resize(length, 0);
            self.clusters.insert(*cluster, whole);
        }
    }

    /// What has to be presented.
    ///
    /// # Errors
    /// It has become larger than its boot sector can say.
    pub fn finish(self) -> Result<Rebuilt, OverlayError> {
        let old = &self.fat.geometry;
        let grown = self.next - 2 > old.clusters;
        let new = if grown { old.with_clusters(self.next - 2) } else { old.clone() };
        let mut patches: Vec<(u64, Bytes)> = Vec::new();
        for number in 0..new.tables {
            let table = self.table.pieces().into_iter();
            patches.extend(table.map(|(at, bytes)| (new.table_at(number) + at, bytes.into())));
        }
        for (cluster, bytes) in self.clusters {
            patches.push((new.at(Place::Cluster(cluster, 0)), bytes.into()));
        }
        patches.extend(self.parts.into_iter().map(|(place, bytes)| (new.at(place), bytes.into())));
        if let Some((at, free)) = new.info_at().zip(self.free.filter(|free| Some(*free) != self.fat.free)) {
            patches.push((at + 488, free.to_le_bytes().to_vec().into()));
        }
        if grown {
            let too_large = || OverlayError::Full("its boot sector can't say more".to_owned());
            for (at, field) in new.fields().ok_or_else(too_large)? {
                let copy = new.copy_sector.map(|sector| sector * new.sector);
                let places = [Some(0), copy].into_iter().flatten();
                patches.extend(places.map(|sector| (sector + at, field.clone().into())));
            }
        }
        Ok(Rebuilt {
            pieces: if grown { pieces(self.fat.start, old, &new) } else { Vec::new() },
            patches,
            changed_files: self.changed_files,
            configuration: ranges(&self.content, &new),
        })
    }
}

/// A place some bytes further on.
pub fn moved(place: Place, by: u64) -> Place {
    match place {
        Place::Root(offset) => Place::Root(offset + by),
        Place::Cluster(cluster, offset) => Place::Cluster(cluster, offset + by),
    }
}

/// What a larger file system is made of: everything that was there, with more room behind each table and at the end.
fn pieces(start: u64, old: &Geometry, new: &Geometry) -> Vec<(u64, What)> {
    let mut pieces = vec![(old.reserved * old.sector, What::Original(start))];
    let (old_table, new_table) = (old.table_sectors * old.sector, new.table_sectors * new.sector);
    for number in 0..old.tables {
        pieces.push((old_table, What::Original(start + old.table_at(number))));
        pieces.push((new_table - old_table, What::Zeros));
    }
    pieces.push((old.root_sectors * old.sector, What::Original(start + old.root_at())));
    pieces.push((u64::from(old.clusters) * old.cluster(), What::Original(start + old.data_at())));
    pieces.push((u64::from(new.clusters - old.clusters) * new.cluster(), What::Zeros));
    pieces
}

/// Where content is; clusters that lie side by side as one.
fn ranges(content: &[(u32, u64)], geometry: &Geometry) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (cluster, length) in content {
        let start = geometry.at(Place::Cluster(*cluster, 0));
        match ranges.last_mut().filter(|range| range.end == start) {
            Some(range) => range.end = start + length,
            None => ranges.push(start..start + length),
        }
    }
    ranges
}
