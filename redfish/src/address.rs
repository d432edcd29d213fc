//! Where a BMC is: the address that a person wrote, taken apart.

use std::fmt;

use url::Url;

/// Where every Redfish service begins, below the prefix of a gateway if there is one.
const SERVICE_ROOT: &str = "/redfish/v1";

/// Why an address can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no URL.
    #[error("{address:?} is not a URL: write for example https://10.0.0.7")]
    NotAUrl {
        /// As it was written.
        address: String,
        /// What is wrong with it.
        #[source]
        source: url::ParseError,
    },
    /// It is a URL of something else.
    #[error("{address:?} is neither http nor https: write for example https://10.0.0.7")]
    Scheme {
        /// As it was written.
        address: String,
    },
    /// Passwords do not belong into addresses. The address is not repeated.
    #[error("the address has a user name or a password in it: put them into the credentials Secret")]
    UserInformation,
}

/// The address of a BMC's Redfish service.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// Scheme, host and port.
    origin: Url,
    /// What a gateway puts before `/redfish/v1`; empty or beginning with a slash.
    prefix: String,
    /// The path of the ComputerSystem, if the address names one.
    system: Option<String>,
}

impl Address {
    /// Takes an address apart. The path may be absent, lead to the service root, or name a system.
    ///
    /// # Errors
    /// It is not an http(s) URL, or there is a password in it.
    pub fn parse(address: &str) -> Result<Self, AddressError> {
        let url = Url::parse(address)
            .map_err(|source| AddressError::NotAUrl { address: without_user(address), source })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::UserInformation);
        }
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(AddressError::Scheme { address: without_user(address) });
        }
        let path = url.path().trim_end_matches('/');
        let (prefix, below) = match service_root(path) {
            Some(at) => (path.get(..at).unwrap_or_default(), path.get(at..).unwrap_or_default()),
            None => (path, ""),
        };
        let system = below.starts_with("/redfish/v1/Systems/").then(|| below.to_owned());
        let prefix = prefix.trim_end_matches('/').to_owned();
        let mut origin = url;
        origin.set_path("");
        origin.set_query(None);
        origin.set_fragment(None);
        Ok(Self { origin, prefix, system })
    }

    /// The path of the ComputerSystem that the address names.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// Whether the way to the BMC is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.origin.scheme() == "https"
    }

    /// The URL of a path that the BMC named.
    ///
    /// A BMC may name a whole URL, of itself as it sees itself. Only its path is taken: what a BMC says
    /// never sends us, and our token, to another host.
    #[must_use]
    pub fn url(&self, named: &str) -> Url {
        let named = match Url::parse(named) {
            Ok(whole) => match whole.query() {
                Some(query) => format!("{}?{query}", whole.path()),
                None => whole.path().to_owned(),
            },
            Err(_) => named.to_owned(),
        };
        let (path, query) = match named.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (named.as_str(), None),
        };
        let mut url = self.origin.clone();
        let path = path.split('#').next().unwrap_or_default();
        // First by itself, which resolves its dots: behind the prefix they would climb to the BMC next door.
        url.set_path(&format!("/{}", path.trim_start_matches('/')));
        let below = url.path().to_owned();
        url.set_path(&format!("{}{below}", self.prefix));
        url.set_query(query);
        url
    }
}

/// What is left of an address that may have a password in it.
/// Where the service root begins in a path: `/redfish/v10` is another one.
fn service_root(path: &str) -> Option<usize> {
    path.match_indices(SERVICE_ROOT).map(|(at, _)| at).find(|at| {
        let after = path.get(at + SERVICE_ROOT.len()..).unwrap_or_default();
        after.is_empty() || after.starts_with('/')
    })
}

fn without_user(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => address.to_owned(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin.as_str().trim_end_matches('/'), self.prefix)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self}, system {:?})", self.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        for (written, shown, system) in [
            ("https://10.0.0.7", "https://10.0.0.7", None),
            ("https://10.0.0.7/", "https://10.0.0.7", None),
            ("http://bmc.example.org:8000/redfish/v1/", "http://bmc.example.org:8000", None),
            ("https://[2001:db8::7]:8443/redfish/v1", "https://[2001:db8::7]:8443", None),
            ("https://10.0.0.7/redfish/v1/Systems/1/", "https://10.0.0.7", Some("/redfish/v1/Systems/1")),
            ("https://gateway/rack7/u3", "https://gateway/rack7/u3", None),
            ("https://gateway/u3//redfish/v1", "https://gateway/u3", None),
            ("https://gateway/redfish/v10/redfish/v1", "https://gateway/redfish/v10", None),
            ("https://gateway/u3/redfish/v1/Systems/S", "https://gateway/u3", Some("/redfish/v1/Systems/S")),
        ] {
            let address = Address::parse(written).unwrap();
            assert_eq!(address.to_string(), shown, "{written}");
            assert_eq!(address.system(), system, "{written}");
        }
    }

    #[test]
    fn what_is_no_address_is_said_without_its_password() {
        for (written, said) in [
            ("10.0.0.7", "is not a URL"),
            ("ftp://10.0.0.7", "is neither http nor https"),
            ("https://root:calvin@10.0.0.7", "put them into the credentials Secret"),
            ("https://root:calvin@10.0.0.7:port", "is not a URL"),
            ("mailto:root:calvin@10.0.0.7", "is neither http nor https"),
        ] {
            let error = Address::parse(written).unwrap_err().to_string();
            assert!(error.contains(said), "{written}: {error}");
            assert!(!error.contains("calvin"), "{error}");
        }
    }

    #[test]
    fn what_a_bmc_names_stays_on_that_bmc() {
        let address = Address::parse("https://gateway:8443/u3").unwrap();
        for (named, url) in [
            ("/redfish/v1/Systems/1", "https://gateway:8443/u3/redfish/v1/Systems/1"),
            ("redfish/v1/Systems", "https://gateway:8443/u3/redfish/v1/Systems"),
            ("/redfish/v1/Systems?$skip=10", "https://gateway:8443/u3/redfish/v1/Systems?$skip=10"),
            (
                "https://192.0.2.1/redfish/v1/TaskMonitors/7",
                "https://gateway:8443/u3/redfish/v1/TaskMonitors/7",
            ),
            ("//evil.example.org/x", "https://gateway:8443/u3/evil.example.org/x"),
            ("/../u4/redfish/v1", "https://gateway:8443/u3/u4/redfish/v1"),
            ("/redfish/../../%2E%2e/u4", "https://gateway:8443/u3/u4"),
            ("\\..\\u4", "https://gateway:8443/u3/u4"),
            ("/redfish/v1/Chassis/1#/Fans/0", "https://gateway:8443/u3/redfish/v1/Chassis/1"),
        ] {
            assert_eq!(address.url(named).as_str(), url, "{named}");
        }
    }
}
