//! What may be connected to: checked for every URL, those of redirects included, and for every address that a name
//! resolves to, on the way to the connection itself, so that no second answer of the name server slips in between.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::addresses;
use super::error::{Why, shown};
use super::hosts::HostRule;

/// What may be connected to.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    pub hosts: Vec<HostRule>,
    pub allow_loopback: bool,
}

impl Targets {
    /// Whether a URL may be asked, as far as it alone can say.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Why> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Why::Scheme(url.scheme().to_owned()));
        }
        if !self.hosts.is_empty() && !self.hosts.iter().any(|rule| rule.allows(url)) {
            let host = url.host_str().unwrap_or_default();
            return Err(Why::Refused(format!("{host} is not among the hosts of --artifact-hosts")));
        }
        // A name is looked at when it is resolved.
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(Why::Refused(format!("{} names no host", shown(url)))),
        };
        addresses::refused(literal, self.allow_loopback).map_or(Ok(()), |why| {
            Err(Why::Refused(RefusedAddress { name: None, address: literal, why }.to_string()))
        })
    }
}

/// An address that is not connected to.
#[derive(Debug)]
struct RefusedAddress {
    name: Option<String>,
    address: IpAddr,
    why: &'static str,
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, address, why } = self;
        match name {
            Some(name) => write!(f, "{name} is {address}, {why}, and images don't come from there"),
            None => write!(f, "{address} is {why}, and images don't come from there"),
        }
    }
}

impl Error for RefusedAddress {}

/// What a failed request says if it failed because an address was refused.
pub(crate) fn refusal(error: &reqwest::Error) -> Option<Why> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<RefusedAddress>() {
            return Some(Why::Refused(refused.to_string()));
        }
        cause = inner.source();
    }
    None
}

/// Resolves names as the system does, and leaves out what may not be connected to.
pub(crate) struct Resolver {
    pub allow_loopback: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_loopback = self.allow_loopback;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed = sift(name.as_str(), found, allow_loopback)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// What may be connected to of what a name resolved to.
fn sift(
    name: &str,
    found: impl Iterator<Item = SocketAddr>,
    allow_loopback: bool,
) -> Result<Vec<SocketAddr>, RefusedAddress> {
    let mut allowed = Vec::new();
    let mut refused = None;
    for address in found {
        match addresses::refused(address.ip(), allow_loopback) {
            None => allowed.push(address),
            Some(why) => {
                refused = Some(RefusedAddress { name: Some(name.to_owned()), address: address.ip(), why });
            }
        }
    }
    match refused {
        Some(refused) if allowed.is_empty() => Err(refused),
        Some(_) | None => Ok(allowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_checked_as_far_as_they_go() {
        let open = Targets { hosts: vec![], allow_loopback: false };
        let listed = Targets { hosts: vec!["*.example.org".parse().unwrap()], allow_loopback: false };
        for (targets, url, said) in [
            (&open, "http://mirror.test/x.iso", None),
            (&open, "https://192.0.2.1/x.iso", None),
            (
                &open,
                "ftp://mirror.test/x.iso",
                Some("ftp is not supported, serve the image over http or https"),
            ),
            (&open, "file:///etc/shadow", Some("file is not supported")),
            (&open, "http://127.0.0.1/x.iso", Some("127.0.0.1 is a loopback address")),
            (&open, "http://2130706433/x.iso", Some("127.0.0.1 is a loopback address")),
            (&open, "http://0x7f.1/x.iso", Some("127.0.0.1 is a loopback address")),
            (&open, "http://[::ffff:127.0.0.1]/x.iso", Some("is a loopback address")),
            (&open, "http://169.254.169.254/latest", Some("is a link-local address")),
            (&listed, "http://mirror.example.org/x.iso", None),
            (
                &listed,
                "http://mirror.test/x.iso",
                Some("mirror.test is not among the hosts of --artifact-hosts"),
            ),
        ] {
            let told = targets.check(&url.parse().unwrap()).err().map(|why| why.to_string());
            match said {
                None => assert_eq!(told, None, "{url}"),
                Some(said) => {
                    assert!(told.as_deref().is_some_and(|told| told.contains(said)), "{url}: {told:?}")
                }
            }
        }
    }

    #[test]
    fn a_name_is_only_connected_to_where_that_is_allowed() {
        let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let all = [at("127.0.0.1"), at("192.0.2.1"), at("fe80::1")];
        assert_eq!(sift("x.test", all.into_iter(), false).unwrap(), [at("192.0.2.1")]);
        let error = sift("x.test", [at("127.0.0.1")].into_iter(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.test is 127.0.0.1, a loopback address, and images don't come from there"
        );
        assert_eq!(sift("x.test", [at("127.0.0.1")].into_iter(), true).unwrap(), [at("127.0.0.1")]);
    }
}
