//! Places on a disk.

/// What signatures lie in: GPT's two tables, the labels and superblocks of file systems, LVM, RAID and ZFS, and the keys
/// of LUKS, which take the most.
const AREA: u64 = 16 * 1024 * 1024;

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

    /// The places at its beginning and at its end where signatures are; one where they meet.
    #[must_use]
    pub fn ends(self) -> Vec<Self> {
        if self.length() <= 2 * AREA {
            return vec![self];
        }
        vec![Self::new(self.start, AREA), Self { start: self.end - AREA, end: self.end }]
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
    fn what_lies_behind_the_disk_is_cut_off() {
        for (span, size, expected) in
            [((5, 10), 20, (5, 15)), ((5, 10), 12, (5, 12)), ((5, 10), 3, (3, 3)), ((5, u64::MAX), 9, (5, 9))]
        {
            let cut = Span::new(span.0, span.1).within(size);
            assert_eq!((cut.start, cut.end), expected, "{span:?} {size}");
        }
    }
}
