//! Where a server listens, as users of other managers write it: `:8443`, `127.0.0.1:0`, `[::1]:9440`,
//! `localhost:8080`; `0` turns the server off.
//!
//! Host names other than `localhost` are not resolved: an address to listen on is one of this machine.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindAddress {
    /// Nowhere: the server is off.
    Off,
    /// On every address of this machine, IPv6 and IPv4.
    Any(u16),
    /// On this address only.
    At(SocketAddr),
}

/// A text that is no address to listen on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("write :PORT for every address, IP:PORT or [IPv6]:PORT for one, or 0 to turn it off")]
pub struct AddressError;

impl BindAddress {
    /// What to try, in order: without IPv6 on this machine the second one serves.
    #[must_use]
    pub fn candidates(self) -> Vec<SocketAddr> {
        match self {
            Self::Off => Vec::new(),
            Self::Any(port) => vec![
                SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
                SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
            ],
            Self::At(address) => vec![address],
        }
    }
}

/// Reads an address to listen on.
///
/// # Errors
/// The text is none; the error says how to write one.
pub fn parse(text: &str) -> Result<BindAddress, AddressError> {
    if text == "0" {
        return Ok(BindAddress::Off);
    }
    let port = |port: &str| port.parse::<u16>().map_err(|_| AddressError);
    if let Some(any) = text.strip_prefix(':') {
        return port(any).map(BindAddress::Any);
    }
    if let Some(local) = text.strip_prefix("localhost:") {
        return Ok(BindAddress::At(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port(local)?)));
    }
    text.parse::<SocketAddr>().map(BindAddress::At).map_err(|_| AddressError)
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::Any(port) => write!(f, ":{port}"),
            Self::At(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_alike() {
        for text in ["0", ":8443", "127.0.0.1:9440", "[::1]:9440", "0.0.0.0:0"] {
            assert_eq!(parse(text).map(|a| a.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(parse("localhost:80").map(|a| a.to_string()), Ok("127.0.0.1:80".to_owned()));
    }

    #[test]
    fn every_address_means_both_families() {
        let tried: Vec<String> = BindAddress::Any(1).candidates().iter().map(ToString::to_string).collect();
        assert_eq!(tried, ["[::]:1", "0.0.0.0:1"]);
        assert!(BindAddress::Off.candidates().is_empty());
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "8443", ":", ":x", ":70000", "::1:80", "example.org:80", "http://127.0.0.1:80"] {
            assert_eq!(parse(text), Err(AddressError), "{text}");
        }
    }
}
