//! Who this replica is: a name that no other replica, and no earlier life of this one, has had.

use std::fmt;

/// The name of the pod's own file with its namespace.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Why the manager does not know something about itself.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// No pod, and no flag.
    #[error(
        "the manager's own namespace, where its Lease and its boot server's key are, is not known: this is not a pod \
         with a service account, so pass --leader-election-namespace (or, when there is only one replica and no boot \
         server, --leader-elect=false)"
    )]
    Namespace(#[source] std::io::Error),
}

/// A replica's name: its pod or host, and something random.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity(String);

impl Identity {
    /// A new one for this process.
    #[must_use]
    pub fn new() -> Self {
        let host = std::env::var("POD_NAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| {
            rustix::system::uname().nodename().to_str().unwrap_or("beskar7-manager").to_owned()
        });
        // In a header and in a Lease: keep to what both can hold.
        let host: String =
            host.chars().map(|c| if c.is_ascii_graphic() && !"()".contains(c) { c } else { '-' }).collect();
        Self(format!("{host}_{:016x}", fastrand::u64(..)))
    }

    /// As it stands in the Lease.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pod or host, without the random part.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.rsplit_once('_').map_or(self.0.as_str(), |(host, _)| host)
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The manager's own namespace, of the Lease and of the boot server's key: as the flag says, else the pod's own.
///
/// # Errors
/// Neither is known; the error says what to pass.
pub fn own_namespace(flag: Option<&str>) -> Result<String, IdentityError> {
    match flag {
        Some(namespace) => Ok(namespace.to_owned()),
        None => std::fs::read_to_string(NAMESPACE_FILE)
            .map(|text| text.trim().to_owned())
            .map_err(IdentityError::Namespace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let (a, b) = (Identity::new(), Identity::new());
        assert_ne!(a, b);
        assert_eq!(a.host(), b.host());
        assert!(a.as_str().starts_with(a.host()));
    }

    #[test]
    fn outside_a_pod_the_flag_is_asked_for() {
        assert_eq!(own_namespace(Some("a")).unwrap(), "a");
        if !std::path::Path::new(NAMESPACE_FILE).exists() {
            let error = own_namespace(None).unwrap_err().to_string();
            assert!(error.contains("--leader-election-namespace"), "{error}");
        }
    }
}
