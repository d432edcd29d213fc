//! What is known of a machine that may ask.

use std::{fmt, net::Ipv4Addr, time::Duration};

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Reads one in any of its usual spellings: six pairs of hex digits with `:` or `-` between them, or none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|character| !matches!(character, ':' | '-')).collect();
        if digits.len() != 12 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let bits = u64::from_str_radix(&digits, 16).ok()?;
        let [_, _, mac @ ..] = bits.to_be_bytes();
        Some(Self(mac))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

/// The address of a machine, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressing {
    /// The address.
    pub address: Ipv4Addr,
    /// How many of its bits are the network's.
    pub prefix: u8,
    /// Through which it reaches others.
    pub gateway: Option<Ipv4Addr>,
    /// Who knows names.
    pub name_servers: Vec<Ipv4Addr>,
    /// Who knows the time.
    pub time_servers: Vec<Ipv4Addr>,
    /// Its name.
    pub host_name: Option<String>,
    /// For how long it may keep it.
    pub lease: Duration,
}

/// What a machine is to do when it asks to be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boot {
    /// What is on its disk: it is told nothing.
    Disk,
    /// Something from the network.
    Script {
        /// The URL of the script that iPXE runs.
        script: String,
        /// The URL of an EFI program (a unified kernel image) that firmware which boots by HTTP starts by itself, without iPXE
        /// in between.
        program: Option<String>,
    },
}

/// A machine that may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// By which it is known.
    pub mac: Mac,
    /// Its address; without one, somebody else gives it.
    pub addressing: Option<Addressing>,
    /// What it boots.
    pub boot: Boot,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_spelling_and_written_in_one() {
        for text in ["52:54:00:Ab:00:01", "52-54-00-ab-00-01", "525400ab0001"] {
            assert_eq!(Mac::parse(text).unwrap().to_string(), "52:54:00:ab:00:01", "{text}");
        }
        for text in ["", "52:54:00:ab:00", "52:54:00:ab:00:01:02", "52:54:00:ab:00:0g", "+52540ab0001"] {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
    }
}
