//! What somebody may choose about where images come from.

use std::path::PathBuf;
use std::time::Duration;

use super::hosts::HostRule;

/// Where images may come from, and how they are read.
#[derive(Debug, Clone, Default)]
pub struct UpstreamSettings {
    /// Whether loopback addresses may be connected to: for development on one machine.
    pub allow_loopback: bool,
    /// The only hosts that images may come from; empty: all.
    pub hosts: Vec<HostRule>,
    /// CAs, in PEM, that are trusted besides those of the system.
    pub extra_ca: Option<Vec<u8>>,
    /// Where images are kept; `None`: nowhere.
    pub cache: Option<CacheSettings>,
    /// How long is waited.
    pub limits: Limits,
}

/// Where images are kept, and how much of them.
#[derive(Debug, Clone)]
pub struct CacheSettings {
    /// A directory of its own. What the cache left there before is removed at the start.
    pub directory: PathBuf,
    /// How many bytes all images together may take.
    pub limit: u64,
}

/// How long is waited for an upstream. There is no limit on a whole read: an image may take hours, as long as bytes come.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For the head of an answer, connection included.
    pub first_byte: Duration,
    /// For the next bytes of a body.
    pub stall: Duration,
    /// How often one read is resumed where it broke off.
    pub resumes: u32,
    /// How long is waited before the first resumption; each later one waits twice as long as the one before.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            resumes: 5,
            pause: Duration::from_millis(250),
        }
    }
}
