//! Places on a disk.

/// What signatures lie in: GPT's two tables, the labels and superblocks of file systems, LVM, RAID and ZFS, and the keys
/// of LUKS, which take the most.
const AREA: u64 = 16 * 1024 * 1024;

/// Ceph's BlueStore has its label at the beginning of what it owns, and again at these places behind that.
const LABELS: [u64; 4] = [1 << 30, 10 << 30, 100 << 30, 1000 << 30];
/// How long such a label may be, and more.
const LABEL: u64 = 64 * 1024;

/// Some bytes of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
}

impl Span {
    /// From a byte on.
    #[must_use]
    pub fn new(start: u64, length: u64) -> Self {
        Self { start, end: start.saturating_add(length) }
    }

    /// How many bytes it has.
    #[must_use]
    pub fn length(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// What of it is on a disk of this size.
    #[must_use]
    pub fn within(self, size: u64) -> Self {
        Self { start: self.start.min(size), end: self.end.min(size) }
    }

    /// The places where signatures are, in their order: at its beginning and at its end, one where they meet, and the few
    /// between.
    #[must_use]
    pub fn ends(self) -> Vec<Self> {
        if self.length() <= 2 * AREA {
            return vec![self];
        }
        let last = Self { start: self.end - AREA, end: self.end };
        let labels = LABELS.into_iter().map(|place| Self::new(self.start.saturating_add(place), LABEL));
        let between = labels.filter(|label| label.start < last.start);
        [Self::new(self.start, AREA)].into_iter().chain(between).chain([last]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_meet_on_small_disks() {
        for (span, expected) in [
            (Span::new(0, 0), vec![(0, 0)]),
            (Span::new(512, 1024), vec![(512, 1536)]),
            (Span::new(0, 2 * AREA), vec![(0, 2 * AREA)]),
            (Span::new(1, 2 * AREA + 1), vec![(1, AREA + 1), (AREA + 2, 2 * AREA + 2)]),
        ] {
            let ends: Vec<_> = span.ends().into_iter().map(|end| (end.start, end.end)).collect();
            assert_eq!(ends, expected, "{span:?}");
        }
    }

    #[test]
    fn labels_that_lie_between_the_ends_are_found_in_partitions_too() {
        const GIB: u64 = 1 << 30;
        for (span, expected) in [
            (Span::new(0, GIB), vec![]),
            (Span::new(0, GIB + 2 * AREA), vec![GIB]),
            (Span::new(0, 2 << 40), vec![GIB, 10 * GIB, 100 * GIB, 1000 * GIB]),
            (Span::new(5 * GIB, 20 * GIB), vec![6 * GIB, 15 * GIB]),
        ] {
            let ends = span.ends();
            assert!(ends.is_sorted_by_key(|end| end.start) && ends.iter().all(|end| end.end <= span.end));
            let between: Vec<u64> =
                ends.iter().filter(|end| end.length() == LABEL).map(|end| end.start).collect();
            assert_eq!(between, expected, "{span:?}");
        }
    }

    #[test]
    fn what_lies_behind_the_disk_is_cut_off() {
        for (span, size, expected) in
            [((5, 10), 20, (5, 15)), ((5, 10), 12, (5, 12)), ((5, 10), 3, (3, 3)), ((5, u64::MAX), 9, (5, 9))]
        {
            let cut = Span::new(span.0, span.1).within(size);
            assert_eq!((cut.start, cut.end), expected, "{span:?} {size}");
        }
    }
}
