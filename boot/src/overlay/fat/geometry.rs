//! Where the parts of a FAT file system are, by its boot sector.

use crate::overlay::{
    error::OverlayError,
    fat::Place,
    fields::{u8_at, u16_le, u32_le},
    reader::Reader,
};

/// How wide the entries of the table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 12 bits.
    Twelve,
    /// 16 bits.
    Sixteen,
    /// 28 of 32 bits.
    ThirtyTwo,
}

impl Width {
    /// How many bits an entry has.
    pub fn bits(self) -> u64 {
        match self {
            Self::Twelve => 12,
            Self::Sixteen => 16,
            Self::ThirtyTwo => 32,
        }
    }

    /// The most clusters with which it is this kind still.
    pub fn most_clusters(self) -> u32 {
        match self {
            Self::Twelve => 4084,
            Self::Sixteen => 65_524,
            Self::ThirtyTwo => 0x0FFF_FFF4,
        }
    }

    /// The entry of a last cluster.
    pub fn last(self) -> u32 {
        match self {
            Self::Twelve => 0xFFF,
            Self::Sixteen => 0xFFFF,
            Self::ThirtyTwo => 0x0FFF_FFFF,
        }
    }
}

/// A file system's measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// How wide the entries of the table are.
    pub width: Width,
    /// Bytes of a sector.
    pub sector: u64,
    /// Sectors of a cluster.
    pub cluster_sectors: u64,
    /// Sectors before the first table.
    pub reserved: u64,
    /// How many tables.
    pub tables: u64,
    /// Sectors of a table.
    pub table_sectors: u64,
    /// Sectors of the root directory that is no file.
    pub root_sectors: u64,
    /// The first cluster of the root directory that is one.
    pub root_cluster: u32,
    /// All sectors.
    pub sectors: u64,
    /// How many clusters.
    pub clusters: u32,
    /// The sector that has the number of free clusters.
    pub info_sector: Option<u64>,
    /// The sector that has a copy of the boot sector.
    pub copy_sector: Option<u64>,
}

impl Geometry {
    /// Reads the boot sector; nothing when it is none, or says what can't be.
    ///
    /// # Errors
    /// It can't be read.
    pub async fn read(reader: &mut Reader<'_>, start: u64) -> Result<Option<Self>, OverlayError> {
        if start.checked_add(512).is_none_or(|end| end > reader.length()) {
            return Ok(None);
        }
        let sector = reader.read(start, 512).await?;
        let room = reader.length() - start;
        Ok(Self::parse(&sector).filter(|geometry| geometry.length() <= room))
    }

    /// Reads a boot sector.
    pub fn parse(boot: &[u8]) -> Option<Self> {
        if u16_le(boot, 510)? != 0xAA55 || !matches!(u8_at(boot, 0)?, 0xEB | 0xE9) {
            return None;
        }
        let sector = u64::from(u16_le(boot, 11)?);
        let cluster_sectors = u64::from(u8_at(boot, 13)?);
        let tables = u64::from(u8_at(boot, 16)?);
        let is_sane = matches!(sector, 512 | 1024 | 2048 | 4096)
            && cluster_sectors.is_power_of_two()
            && matches!(tables, 1 | 2)
            && u16_le(boot, 14)? > 0;
        if !is_sane {
            return None;
        }
        let short_table = u64::from(u16_le(boot, 22)?);
        let is_wide = short_table == 0;
        let table_sectors = if is_wide { u32_le(boot, 36)?.into() } else { short_table };
        let sectors = match u16_le(boot, 19)? {
            0 => u32_le(boot, 32)?.into(),
            short => u64::from(short),
        };
        let mut geometry = Self {
            width: Width::ThirtyTwo,
            sector,
            cluster_sectors,
            reserved: u16_le(boot, 14)?.into(),
            tables,
            table_sectors,
            root_sectors: (u64::from(u16_le(boot, 17)?) * 32).div_ceil(sector),
            root_cluster: if is_wide { u32_le(boot, 44)? } else { 0 },
            sectors,
            clusters: 0,
            info_sector: None,
            copy_sector: None,
        };
        geometry.clusters = geometry.count_clusters()?;
        if is_wide {
            let within = |number: u16| Some(u64::from(number)).filter(|n| *n > 0 && *n < geometry.reserved);
            geometry.info_sector = within(u16_le(boot, 48)?);
            geometry.copy_sector = within(u16_le(boot, 50)?);
        } else {
            let is_narrow = geometry.clusters <= Width::Twelve.most_clusters();
            geometry.width = if is_narrow { Width::Twelve } else { Width::Sixteen };
        }
        let is_consistent = geometry.clusters <= geometry.width.most_clusters()
            && geometry.table_sectors >= geometry.needed_table_sectors();
        is_consistent.then_some(geometry)
    }

    fn count_clusters(&self) -> Option<u32> {
        let before = self.data_at() / self.sector;
        let clusters = self.sectors.checked_sub(before)? / self.cluster_sectors;
        u32::try_from(clusters).ok().filter(|clusters| *clusters > 0)
    }

    /// The number of free clusters, where the file system has one.
    ///
    /// # Errors
    /// It can't be read.
    pub async fn read_free(&self, reader: &mut Reader<'_>, start: u64) -> Result<Option<u32>, OverlayError> {
        let Some(at) = self.info_at() else { return Ok(None) };
        let info = reader.read(start + at, 512).await?;
        let is_info = u32_le(&info, 0) == Some(0x4161_5252) && u32_le(&info, 484) == Some(0x6141_7272);
        Ok(u32_le(&info, 488).filter(|free| is_info && *free <= self.clusters))
    }

    /// How many sectors a table needs for all clusters.
    pub fn needed_table_sectors(&self) -> u64 {
        ((u64::from(self.clusters) + 2) * self.width.bits()).div_ceil(8).div_ceil(self.sector)
    }

    /// All bytes.
    pub fn length(&self) -> u64 {
        self.sectors * self.sector
    }

    /// Bytes of a cluster.
    pub fn cluster(&self) -> u64 {
        self.cluster_sectors * self.sector
    }

    /// Where a table is.
    pub fn table_at(&self, number: u64) -> u64 {
        (self.reserved + number * self.table_sectors) * self.sector
    }

    /// Where the root directory that is no file is.
    pub fn root_at(&self) -> u64 {
        self.table_at(self.tables)
    }

    /// Where the first cluster is.
    pub fn data_at(&self) -> u64 {
        self.root_at() + self.root_sectors * self.sector
    }

    /// Where the sector with the number of free clusters is.
    pub fn info_at(&self) -> Option<u64> {
        self.info_sector.map(|sector| sector * self.sector)
    }

    /// Whether there is such a cluster.
    pub fn has(&self, cluster: u32) -> bool {
        cluster >= 2 && cluster - 2 < self.clusters
    }

    /// Where a place is.
    pub fn at(&self, place: Place) -> u64 {
        match place {
            Place::Root(offset) => self.root_at() + offset,
            Place::Cluster(cluster, offset) => {
                self.data_at() + u64::from(cluster.saturating_sub(2)) * self.cluster() + offset
            }
        }
    }

    /// The measures with more clusters.
    pub fn with_clusters(&self, clusters: u32) -> Self {
        let mut larger = Self { clusters, ..self.clone() };
        larger.table_sectors = self.table_sectors.max(larger.needed_table_sectors());
        larger.sectors = larger.data_at() / larger.sector + u64::from(clusters) * larger.cluster_sectors;
        larger
    }

    /// The fields of the boot sector that say these measures: where, and what.
    pub fn fields(&self) -> Option<Vec<(u64, Vec<u8>)>> {
        let short = u16::try_from(self.sectors).ok().filter(|_| self.width != Width::ThirtyTwo).unwrap_or(0);
        let long = if short == 0 { u32::try_from(self.sectors).ok()? } else { 0 };
        let table = match self.width {
            Width::Twelve | Width::Sixteen => {
                (22, u16::try_from(self.table_sectors).ok()?.to_le_bytes().to_vec())
            }
            Width::ThirtyTwo => (36, u32::try_from(self.table_sectors).ok()?.to_le_bytes().to_vec()),
        };
        Some(vec![(19, short.to_le_bytes().to_vec()), (32, long.to_le_bytes().to_vec()), table])
    }
}
