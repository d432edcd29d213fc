//! How many files the process may have open, and how many of them the boot server may take. Each connection is one, and
//! the process that serves machines may be the one that leads: what it needs for the API server and for BMCs must be left,
//! whoever asks for what.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A rack that boots at once has two connections for each machine, its own and its BMC's.
const CONNECTIONS: usize = 4096;
/// So many files are sent by TFTP at once; who asks then asks again.
const TRANSFERS: usize = 1024;
/// So many images are kept at once. A system that boots is two or three of them.
const IMAGES: usize = 256;

/// How many files there may be for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Connections by HTTP.
    pub connections: usize,
    /// Transfers by TFTP.
    pub transfers: usize,
    /// Images in the cache.
    pub images: usize,
}

impl Shares {
    /// What there is for a process that may have so many files open, if it has to share them.
    ///
    /// A connection may have a second one behind it, to where its image is: together they get half, TFTP and the cache a
    /// quarter, and the rest of the process the last one.
    #[must_use]
    pub fn of(limit: usize) -> Self {
        Self {
            connections: (limit / 4).clamp(1, CONNECTIONS),
            transfers: (limit / 8).clamp(1, TRANSFERS),
            images: (limit / 8).clamp(1, IMAGES),
        }
    }

    /// What there is for this process, as it is now.
    pub(crate) fn now() -> Self {
        Self::of(limit())
    }

    /// Whether it is less than there could be.
    #[must_use]
    pub fn are_short(&self) -> bool {
        *self != Self::of(usize::MAX)
    }
}

/// How many files this process may have open.
#[must_use]
pub fn limit() -> usize {
    // None: as many as it likes.
    getrlimit(Resource::Nofile)
        .current
        .and_then(|current| usize::try_from(current).ok())
        .unwrap_or(usize::MAX)
}

/// Lets this process have as many files open as it may let itself have. What a process begins with is small for the sake
/// of programs that wait in an old way, and this is none of them.
pub fn raise_limit() {
    let now = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: now.maximum, maximum: now.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_leave_a_quarter_to_the_rest_and_none_is_without() {
        for (limit, connections, transfers, images) in [
            (0, 1, 1, 1),
            (256, 64, 32, 32),
            (1024, 256, 128, 128),
            (4096, 1024, 512, 256),
            (16_384, 4096, 1024, 256),
            (1_048_576, 4096, 1024, 256),
            (usize::MAX, 4096, 1024, 256),
        ] {
            let shares = Shares::of(limit);
            assert_eq!(shares, Shares { connections, transfers, images }, "{limit}");
            assert!(limit < 8 || 2 * connections + transfers + images <= limit / 4 * 3, "{limit}");
            assert_eq!(shares.are_short(), limit < 16_384, "{limit}");
        }
    }

    #[test]
    fn the_limit_becomes_what_it_may_be() {
        raise_limit();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        assert_eq!(Shares::now(), Shares::of(limit()));
    }
}
