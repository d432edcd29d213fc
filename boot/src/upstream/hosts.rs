//! Which hosts images may come from, where somebody has said so (`--artifact-hosts`).

use std::str::FromStr;

use url::{Host, Url};

/// One host, or all below a domain, on one port or on any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Exact(Host<String>),
    /// What names end in, with the dot in front.
    Below(String),
}

/// A rule that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no host: give a name (mirror.example.org), all names below one (*.example.org), or an address \
     (IPv6 in brackets), each with a port behind a colon if only that one is meant"
)]
pub struct HostRuleError(String);

impl HostRule {
    /// Whether it allows what a URL points at.
    pub fn allows(&self, url: &Url) -> bool {
        let Some(host) = url.host() else { return false };
        let port_fits = self.port.is_none() || self.port == url.port_or_known_default();
        port_fits && self.name.is(&host)
    }
}

impl Name {
    fn is(&self, host: &Host<&str>) -> bool {
        match (self, host) {
            (Self::Exact(Host::Domain(ours)), Host::Domain(theirs)) => ours == without_root(theirs),
            (Self::Exact(Host::Ipv4(ours)), Host::Ipv4(theirs)) => ours == theirs,
            (Self::Exact(Host::Ipv6(ours)), Host::Ipv6(theirs)) => ours == theirs,
            (Self::Below(suffix), Host::Domain(name)) => {
                without_root(name).strip_suffix(suffix.as_str()).is_some_and(|first| !first.is_empty())
            }
            (Self::Exact(_) | Self::Below(_), Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) => false,
        }
    }
}

/// `example.org.` and `example.org` are one name.
fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, HostRuleError> {
        let wrong = || HostRuleError(text.to_owned());
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().map_err(|_| wrong())?)),
            Some(_) | None => (text, None),
        };
        let name = match host.strip_prefix("*.") {
            Some(domain) => match parse(domain).ok_or_else(wrong)? {
                Host::Domain(domain) => Name::Below(format!(".{domain}")),
                Host::Ipv4(_) | Host::Ipv6(_) => return Err(wrong()),
            },
            None => Name::Exact(parse(host).ok_or_else(wrong)?),
        };
        Ok(Self { name, port })
    }
}

/// As a URL's host is read, so that both sides of a comparison went the same way.
fn parse(host: &str) -> Option<Host<String>> {
    let host = without_root(host);
    // An asterisk may stand in a host as far as URLs are concerned, and would match nothing.
    if host.is_empty() || host.contains('*') { None } else { Host::parse(host).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_allow_what_they_name() {
        for (rule, url, allowed) in [
            ("mirror.example.org", "https://mirror.example.org/a.iso", true),
            ("mirror.example.org", "https://mirror.example.org:8443/a.iso", true),
            ("Mirror.Example.ORG.", "http://mirror.example.org./a.iso", true),
            ("mirror.example.org", "https://user:secret@mirror.example.org/a.iso", true),
            ("mirror.example.org", "https://mirror.example.org@evil.test/a.iso", false),
            ("mirror.example.org", "https://a.mirror.example.org/a.iso", false),
            ("mirror.example.org", "https://mirror.example.org.evil.test/a.iso", false),
            ("mirror.example.org:443", "https://mirror.example.org/a.iso", true),
            ("mirror.example.org:443", "http://mirror.example.org/a.iso", false),
            ("mirror.example.org:8080", "http://mirror.example.org:8080/a.iso", true),
            ("*.example.org", "https://a.example.org/a.iso", true),
            ("*.example.org", "https://a.b.example.org/a.iso", true),
            ("*.example.org", "https://example.org/a.iso", false),
            ("*.example.org", "https://badexample.org/a.iso", false),
            ("*.example.org:80", "http://a.example.org/a.iso", true),
            ("*.example.org:80", "https://a.example.org/a.iso", false),
            ("192.0.2.7", "http://192.0.2.7/a.iso", true),
            ("192.0.2.7", "http://0xc0.0.2.7/a.iso", true),
            ("192.0.2.7:80", "http://192.0.2.7:81/a.iso", false),
            ("[2001:db8::7]", "http://[2001:db8:0::7]:81/a.iso", true),
            ("[2001:db8::7]:80", "http://[2001:db8::7]/a.iso", true),
            ("[2001:db8::7]:80", "http://[2001:db8::8]/a.iso", false),
            ("*.7", "http://192.0.2.7/a.iso", false),
        ] {
            let Ok(parsed) = rule.parse::<HostRule>() else {
                assert!(!allowed, "{rule} can't be read");
                continue;
            };
            assert_eq!(parsed.allows(&url.parse().unwrap()), allowed, "{rule} and {url}");
        }
    }

    #[test]
    fn rules_that_are_none_are_said_so() {
        for rule in ["", "*", "*.", "a.*.example.org", "host:port", "host:99999", "a b", "*.192.0.2.7", ":80"]
        {
            let error = rule.parse::<HostRule>().unwrap_err().to_string();
            assert!(error.contains("is no host"), "{rule}: {error}");
        }
    }
}
