//! Free ports on the loopback address.
//!
//! A port that was free a moment ago may be taken when a program binds it. Two
//! things make that rare: ports are taken from below the range from which the
//! kernel serves outgoing connections (a client that retries a port in that
//! range may even connect to itself and so occupy it), and a lock on a file
//! per port keeps the processes of this crate apart for as long as they hold
//! it. What remains, [`taken`] recognises, and who starts a program tries again.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use anyhow::{Context, Result, bail};

use crate::tools;

/// Where services usually are not, and ordinary users may bind.
const LOWEST: u16 = 15_000;

/// A port that nobody else of this crate uses while it is held.
#[derive(Debug)]
pub struct Port {
    number: u16,
    lock: File,
}

impl Port {
    /// Finds a free port and holds it.
    pub fn reserve() -> Result<Self> {
        let range = below(ephemeral_start());
        let count = range.end.saturating_sub(range.start);
        let begin = u16::try_from(RandomState::new().build_hasher().finish() % u64::from(count.max(1)))?;
        for step in 0..count {
            let number =
                range.start + (u32::from(begin) + u32::from(step)).rem_euclid(u32::from(count)) as u16;
            let port = Self::named(number)?;
            if port.lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(port);
            }
        }
        bail!("no free port between {} and {} on the loopback address", range.start, range.end)
    }

    /// A certain port, whoever may use it.
    pub fn named(number: u16) -> Result<Self> {
        let directory = tools::home()?.join("ports");
        std::fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
        let path = directory.join(number.to_string());
        let lock = File::options().create(true).append(true).open(&path);
        Ok(Self { number, lock: lock.with_context(|| format!("opening {}", path.display()))? })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Its address, such as `127.0.0.1:20001`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.number)
    }
}

/// Whether a program's log says that it did not get its port.
#[must_use]
pub fn taken(log: &str) -> bool {
    log.contains("address already in use") || log.contains("Address already in use")
}

/// The first port from which outgoing connections are served.
fn ephemeral_start() -> u16 {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    setting.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(32_768)
}

/// The ports to choose from; all the high ones where the kernel leaves too
/// little room below its own.
fn below(ephemeral: u16) -> Range<u16> {
    if ephemeral >= LOWEST + 1000 { LOWEST..ephemeral } else { LOWEST..u16::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_from_below_the_range_of_outgoing_connections() {
        assert_eq!(below(32_768), LOWEST..32_768);
        assert_eq!(below(1024), LOWEST..u16::MAX);
    }

    #[test]
    fn a_taken_port_is_recognised_in_logs() {
        assert!(taken("failed to listen on 127.0.0.1:6443: bind: address already in use"));
        assert!(taken("Address already in use (os error 98)"));
        assert!(!taken("listening"));
    }
}
