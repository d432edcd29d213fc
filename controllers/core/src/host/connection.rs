//! Whether the settings by which a host's BMC is reached are complete: the credentials and the CA bundle.
//!
//! What is known of a Secret here is which keys hold something, never what they hold.

use std::collections::BTreeSet;

use beskar7_api::{
    annotations,
    conditions::host,
    physical_host::RedfishConnection,
    secret_keys::{CA_CERTIFICATE, PASSWORD, TLS_CERTIFICATE, USERNAME},
};

use crate::conditions::{Finding, Truth};

/// What was found where a host says that a Secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretView {
    /// It is there; these keys hold something.
    Found(BTreeSet<String>),
    /// It does not exist.
    Absent,
    /// It could not be read; in a few words that do not change from try to try.
    Unreadable(String),
}

/// What was found of the Secrets that a host names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets {
    /// The credentials; absent when the host names none.
    pub credentials: Option<SecretView>,
    /// The CA bundle; absent when the host names none.
    pub ca_bundle: Option<SecretView>,
    /// The BMC addresses that the credentials are meant for, as their Secret's annotation lists them; absent when they
    /// are for all.
    pub only_for: Option<String>,
}

/// How the settings stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Settings {
    /// All is there.
    Complete,
    /// Somebody must do something.
    Incomplete(Finding),
    /// It may be there; trying again may help.
    Unreadable(Finding),
}

const CREDENTIALS_FIELD: &str = "spec.redfishConnection.credentialsSecretRef";
const CA_BUNDLE_FIELD: &str = "spec.redfishConnection.caBundleSecretRef";

/// Looks at credentials first, then at the CA bundle.
pub(super) fn settings(namespace: &str, wanted: &RedfishConnection, secrets: &Secrets) -> Settings {
    let name = wanted.credentials_secret_ref.as_str();
    let Some(credentials) = secrets.credentials.as_ref().filter(|_| !name.is_empty()) else {
        return Settings::Incomplete(finding(
            host::MISSING_CREDENTIALS,
            format!(
                "{CREDENTIALS_FIELD} is empty: name a Secret in namespace {namespace} with username and password"
            ),
        ));
    };
    let needed = Needed { field: CREDENTIALS_FIELD, namespace, name, keys: "username and password" };
    match needed.keys_of(credentials) {
        Ok(keys) => {
            let lacking: Vec<&str> =
                [USERNAME, PASSWORD].into_iter().filter(|key| !keys.contains(*key)).collect();
            if !lacking.is_empty() {
                return needed.lacks(&lacking.join(" and "));
            }
        }
        Err(settings) => return settings,
    }
    if let Some(list) = &secrets.only_for
        && !list.split(',').any(|entry| is_for(entry.trim(), &wanted.address))
    {
        return needed.is_for_others();
    }
    let (Some(reference), Some(bundle)) = (&wanted.ca_bundle_secret_ref, &secrets.ca_bundle) else {
        return Settings::Complete;
    };
    let needed = Needed { field: CA_BUNDLE_FIELD, namespace, name: &reference.name, keys: "ca.crt" };
    match needed.keys_of(bundle) {
        Ok(keys) if keys.contains(CA_CERTIFICATE) || keys.contains(TLS_CERTIFICATE) => Settings::Complete,
        Ok(_) => needed.lacks("ca.crt (or tls.crt)"),
        Err(settings) => settings,
    }
}

/// A Secret that a host needs.
struct Needed<'a> {
    field: &'static str,
    namespace: &'a str,
    name: &'a str,
    keys: &'static str,
}

impl Needed<'_> {
    fn keys_of<'s>(&self, secret: &'s SecretView) -> Result<&'s BTreeSet<String>, Settings> {
        let Self { field, namespace, name, keys } = self;
        match secret {
            SecretView::Found(found) => Ok(found),
            SecretView::Absent => Err(Settings::Incomplete(finding(
                host::SECRET_NOT_FOUND,
                format!("Secret {namespace}/{name} does not exist: create it with {keys}, or change {field}"),
            ))),
            SecretView::Unreadable(cause) => Err(Settings::Unreadable(finding(
                host::SECRET_GET_FAILED,
                format!("Secret {namespace}/{name} of {field} can't be read, and is tried again: {cause}"),
            ))),
        }
    }

    fn is_for_others(&self) -> Settings {
        let Self { field, namespace, name, .. } = self;
        Settings::Incomplete(finding(
            host::SECRET_NOT_FOR_BMC,
            format!(
                "Secret {namespace}/{name} of {field} is not meant for this BMC: its annotation {} does not list the address",
                annotations::BMC_ADDRESSES
            ),
        ))
    }

    fn lacks(&self, keys: &str) -> Settings {
        let Self { field, namespace, name, .. } = self;
        Settings::Incomplete(finding(
            host::MISSING_SECRET_DATA,
            format!("Secret {namespace}/{name} of {field} has no {keys}: add what is missing"),
        ))
    }
}

/// Whether an entry of the annotation means this address: a name or an IP address, with a port where it matters.
fn is_for(entry: &str, address: &str) -> bool {
    let (entry, address) = (authority(entry), authority(address));
    !entry.is_empty()
        && (entry.eq_ignore_ascii_case(address) || entry.eq_ignore_ascii_case(without_port(address)))
}

/// What stands between the scheme and the path.
fn authority(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // Inside of brackets it is a part of an IPv6 address.
        Some((host, port)) if !port.ends_with(']') => host,
        Some(_) | None => authority,
    }
}

fn finding(reason: &'static str, message: String) -> Finding {
    Finding { truth: Truth::False, reason, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_means_a_name_or_an_address_with_or_without_its_port() {
        for (entry, address, expected) in [
            ("10.0.0.7", "https://10.0.0.7", true),
            ("10.0.0.7", "https://10.0.0.7:8443/redfish/v1/Systems/1", true),
            ("10.0.0.7:8443", "https://10.0.0.7:8443", true),
            ("10.0.0.7:443", "https://10.0.0.7:8443", false),
            ("https://BMC-7.example.org/", "https://bmc-7.example.org", true),
            ("[2001:db8::7]", "https://[2001:db8::7]:8443", true),
            ("[2001:db8::7]", "https://[2001:db8::7]", true),
            ("10.0.0.70", "https://10.0.0.7", false),
            ("10.0.0.7", "https://10.0.0.7.evil.example", false),
            ("", "https://10.0.0.7", false),
        ] {
            assert_eq!(is_for(entry, address), expected, "{entry} for {address}");
        }
    }
}
