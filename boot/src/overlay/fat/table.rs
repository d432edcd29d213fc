//! The table that gives each cluster its next one.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::geometry::{Geometry, Width};
use crate::overlay::{
    error::{OverlayError, damaged},
    fields::{u8_at, u16_le, u32_le},
    reader::Reader,
};

/// A file system of a gibibyte with small clusters has this much.
const LARGEST: u64 = 8 * 1024 * 1024;

/// A table as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    width: Width,
    bytes: Bytes,
}

impl Table {
    /// Reads the first one.
    ///
    /// # Errors
    /// It can't be read, or is too large.
    pub async fn read(
        reader: &mut Reader<'_>,
        start: u64,
        geometry: &Geometry,
    ) -> Result<Self, OverlayError> {
        let length = geometry.needed_table_sectors() * geometry.sector;
        if length > LARGEST {
            return Err(OverlayError::TooMuch { what: "bytes of a file allocation table", most: LARGEST });
        }
        let bytes = reader.read(start + geometry.table_at(0), length).await?;
        Ok(Self { width: geometry.width, bytes })
    }

    /// The entry of a cluster.
    pub fn get(&self, cluster: u32) -> Option<u32> {
        let index = usize::try_from(cluster).ok()?;
        match self.width {
            Width::Twelve => {
                let pair = u16_le(&self.bytes, index + index / 2)?;
                Some(u32::from(if cluster % 2 == 1 { pair >> 4 } else { pair & 0xFFF }))
            }
            Width::Sixteen => u16_le(&self.bytes, index * 2).map(u32::from),
            Width::ThirtyTwo => u32_le(&self.bytes, index * 4).map(|entry| entry & 0x0FFF_FFFF),
        }
    }

    /// The clusters of a file, from its first one. More than `most` is a ring, or a file longer than it says.
    ///
    /// # Errors
    /// The chain leads nowhere, or has no end.
    pub fn chain(&self, geometry: &Geometry, first: u32, most: u64) -> Result<Vec<u32>, OverlayError> {
        let mut chain = Vec::new();
        let mut cluster = first;
        while geometry.has(cluster) {
            if chain.len() as u64 >= most {
                return Err(damaged("a chain of clusters in its EFI system partition has no end"));
            }
            chain.push(cluster);
            cluster = self.get(cluster).unwrap_or(0);
        }
        // The eight highest values end a chain.
        if cluster < self.width.last() - 7 {
            return Err(damaged("a chain of clusters in its EFI system partition leads nowhere"));
        }
        Ok(chain)
    }
}

/// The bytes of a table that differ.
pub struct ChangedTable<'a> {
    table: &'a Table,
    bytes: BTreeMap<u64, u8>,
}

impl<'a> ChangedTable<'a> {
    /// None yet.
    pub fn new(table: &'a Table) -> Self {
        Self { table, bytes: BTreeMap::new() }
    }

    fn byte(&self, at: u64) -> u8 {
        let original = || usize::try_from(at).ok().and_then(|at| u8_at(&self.table.bytes, at));
        self.bytes.get(&at).copied().or_else(original).unwrap_or(0)
    }

    /// Gives a cluster another entry.
    pub fn set(&mut self, cluster: u32, entry: u32) {
        let index = u64::from(cluster);
        match self.table.width {
            Width::Twelve => {
                let at = index + index / 2;
                let pair = u16::from_le_bytes([self.byte(at), self.byte(at + 1)]);
                let entry = u16::try_from(entry & 0xFFF).unwrap_or(0);
                let pair = if cluster % 2 == 1 { pair & 0x000F | entry << 4 } else { pair & 0xF000 | entry };
                self.put(at, &pair.to_le_bytes());
            }
            Width::Sixteen => self.put(index * 2, &u16::try_from(entry & 0xFFFF).unwrap_or(0).to_le_bytes()),
            Width::ThirtyTwo => {
                // The highest four bits are nobody's, and stay.
                let kept = u32::from(self.byte(index * 4 + 3) & 0xF0) << 24;
                self.put(index * 4, &(kept | entry & 0x0FFF_FFFF).to_le_bytes());
            }
        }
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.bytes.extend((at..).zip(bytes.iter().copied()));
    }

    /// What differs, in pieces: where from the beginning of a table, and the bytes.
    pub fn pieces(&self) -> Vec<(u64, Vec<u8>)> {
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        for (at, byte) in &self.bytes {
            match pieces.last_mut() {
                Some((start, bytes)) if *start + bytes.len() as u64 == *at => bytes.push(*byte),
                Some(_) | None => pieces.push((*at, vec![*byte])),
            }
        }
        pieces
    }
}
