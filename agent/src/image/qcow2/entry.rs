//! Entries of the tables.

use super::Header;

/// The bits of an entry that say where something is.
const PLACE: u64 = 0x00ff_ffff_ffff_fe00;
/// The cluster is packed.
const PACKED: u64 = 1 << 62;
/// The cluster reads as zeros, whatever is where it says. Version 2 has no such bit.
const ZEROS: u64 = 1;

/// What a cluster of the disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cluster {
    /// Nothing but zeros.
    Zeros,
    /// Its bytes are here.
    Plain(u64),
    /// Its bytes are here, packed.
    Packed {
        /// Where they begin.
        at: u64,
        /// How many there are, at most: it ends somewhere in the last sector.
        most: usize,
    },
}

/// Where a table of the second level is, by its entry in the first; none where there is none.
pub fn table(entry: u64) -> Option<u64> {
    Some(entry & PLACE).filter(|place| *place != 0)
}

/// What a cluster is, by its entry.
pub fn cluster(entry: u64, header: &Header) -> Cluster {
    if entry & PACKED != 0 {
        // The larger the clusters, the more bits are for the number of sectors, and the fewer for where they are.
        let bits = 62 - (header.cluster_bits - 8);
        let at = entry & ((1 << bits) - 1);
        let sectors = ((entry & (PACKED - 1)) >> bits) + 1;
        let most = sectors * 512 - (at & 511);
        return Cluster::Packed { at, most: usize::try_from(most).unwrap_or(0) };
    }
    let is_zeros = header.version > 2 && entry & ZEROS != 0;
    match entry & PLACE {
        0 => Cluster::Zeros,
        _ if is_zeros => Cluster::Zeros,
        place => Cluster::Plain(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::qcow2::header::Packing;

    #[test]
    fn an_entry_says_what_a_cluster_is() {
        let copied = 1 << 63;
        for (version, cluster_bits, entry, expected) in [
            (3, 16, 0, Cluster::Zeros),
            (3, 16, 1, Cluster::Zeros),
            (3, 16, copied | 0x5_0000, Cluster::Plain(0x5_0000)),
            (3, 16, 0x5_0000, Cluster::Plain(0x5_0000)),
            (3, 16, copied | 0x5_0001, Cluster::Zeros),
            (2, 16, copied | 0x5_0001, Cluster::Plain(0x5_0000)),
            (3, 16, PACKED | 0x5_0010, Cluster::Packed { at: 0x5_0010, most: 512 - 16 }),
            (3, 16, PACKED | (3 << 54) | 0x5_0210, Cluster::Packed { at: 0x5_0210, most: 4 * 512 - 16 }),
            (3, 12, PACKED | (3 << 58) | 0x5_0000, Cluster::Packed { at: 0x5_0000, most: 4 * 512 }),
            (2, 21, PACKED | (1 << 49), Cluster::Packed { at: 0, most: 2 * 512 }),
        ] {
            let compression = Packing::Zlib;
            let header = Header { version, cluster_bits, size: 0, l1_entries: 0, l1_at: 0, compression };
            assert_eq!(cluster(entry, &header), expected, "{entry:x}");
        }
        assert_eq!(table(copied), None);
        assert_eq!(table(copied | 0x4_0000), Some(0x4_0000));
    }
}
