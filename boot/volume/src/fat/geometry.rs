//! The measures of a FAT16 file system, and the boot sector that says them.

use super::slot::{SLOT, put};
use crate::error::VolumeError;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
/// Entries that a root directory has room for.
pub(super) const ROOT_SLOTS: usize = 512;
/// With fewer clusters, readers take the file system for FAT12. Some count wrongly by a few.
const FEWEST_CLUSTERS: u64 = 4085 + 16;
/// With more clusters, readers take it for FAT32.
const MOST_CLUSTERS: u64 = 65_524 - 16;
/// Free clusters: what is presented with longer files than it was made with needs some.
const SPARE_CLUSTERS: u64 = 32;
/// Sectors of a cluster: of the size of a CD's sectors at least, and as large as every reader takes it at most.
const CLUSTER_SECTORS: [u64; 5] = [4, 8, 16, 32, 64];
/// CDs are read in such pieces: what begins at a multiple is read faster.
const ALIGNMENT: u64 = 4;

/// The measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) cluster_sectors: u64,
    pub(super) reserved: u64,
    pub(super) table_sectors: u64,
    pub(super) clusters: u64,
}

impl Geometry {
    /// The one with the smallest clusters; `used` says how many clusters of so many bytes are needed.
    pub(super) fn new(used: impl Fn(u64) -> u64) -> Result<Self, VolumeError> {
        let mut bytes = 0;
        for cluster_sectors in CLUSTER_SECTORS {
            let clusters = (used(cluster_sectors * SECTOR) + SPARE_CLUSTERS).max(FEWEST_CLUSTERS);
            if clusters <= MOST_CLUSTERS {
                return Ok(Self::with_clusters(cluster_sectors, clusters));
            }
            bytes = clusters * cluster_sectors * SECTOR;
        }
        let largest = CLUSTER_SECTORS.iter().max().copied().unwrap_or_default();
        Err(VolumeError::LargerThanAny { bytes, most: MOST_CLUSTERS * largest * SECTOR })
    }

    fn with_clusters(cluster_sectors: u64, clusters: u64) -> Self {
        let table_sectors = ((clusters + 2) * 2).div_ceil(SECTOR);
        let mut geometry = Self { cluster_sectors, reserved: 1, table_sectors, clusters };
        geometry.reserved += geometry.before().next_multiple_of(ALIGNMENT) - geometry.before();
        geometry
    }

    pub(super) fn cluster(&self) -> u64 {
        self.cluster_sectors * SECTOR
    }

    fn root_sectors() -> u64 {
        (ROOT_SLOTS * SLOT) as u64 / SECTOR
    }

    /// Sectors before the first cluster.
    fn before(&self) -> u64 {
        self.reserved + 2 * self.table_sectors + Self::root_sectors()
    }

    /// The boot sector, and what is reserved behind it.
    pub(super) fn boot(&self) -> Vec<u8> {
        let sectors = self.before() + self.clusters * self.cluster_sectors;
        let mut boot = vec![0; usize::try_from(self.reserved * SECTOR).unwrap_or(512)];
        // A jump over what follows, as every reader wants to see it.
        put(&mut boot, 0, &[0xEB, 0x3C, 0x90]);
        put(&mut boot, 3, b"BESKAR7 ");
        put(&mut boot, 11, &field16(SECTOR));
        put(&mut boot, 13, &[u8::try_from(self.cluster_sectors).unwrap_or_default()]);
        put(&mut boot, 14, &field16(self.reserved));
        put(&mut boot, 16, &[2]);
        put(&mut boot, 17, &field16(ROOT_SLOTS as u64));
        put(&mut boot, 19, &field16(sectors));
        // A fixed disk.
        put(&mut boot, 21, &[0xF8]);
        put(&mut boot, 22, &field16(self.table_sectors));
        // Sectors of a track and heads, which nobody counts by any more.
        put(&mut boot, 24, &field16(32));
        put(&mut boot, 26, &field16(64));
        if u16::try_from(sectors).is_err() {
            put(&mut boot, 32, &u32::try_from(sectors).unwrap_or_default().to_le_bytes());
        }
        put(&mut boot, 36, &[0x80, 0, 0x29]);
        put(&mut boot, 39, &[0xB7; 4]);
        put(&mut boot, 43, b"NO NAME    FAT16   ");
        put(&mut boot, 510, &[0x55, 0xAA]);
        boot
    }

    /// The table, for chains of so many clusters each, one behind the other from the first cluster on.
    pub(super) fn table(&self, chains: &[u64]) -> Vec<u8> {
        let mut entries: Vec<u16> = vec![0xFFF8, 0xFFFF];
        for length in chains {
            for number in 1..=*length {
                let next = u16::try_from(entries.len() + 1).unwrap_or(u16::MAX);
                entries.push(if number == *length { u16::MAX } else { next });
            }
        }
        let mut table: Vec<u8> = entries.into_iter().flat_map(u16::to_le_bytes).collect();
        table.resize(usize::try_from(self.table_sectors * SECTOR).unwrap_or_default(), 0);
        table
    }
}

/// 16 bits; none where it has more, which is what the longer field is for.
fn field16(number: u64) -> [u8; 2] {
    u16::try_from(number).unwrap_or_default().to_le_bytes()
}
