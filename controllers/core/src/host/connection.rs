//! Whether the settings by which a host's BMC is reached are complete: the credentials and the CA bundle.
//!
//! What is known of a Secret here is which keys hold something, never what they hold.

use std::collections::BTreeSet;

use beskar7_api::{
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

    fn lacks(&self, keys: &str) -> Settings {
        let Self { field, namespace, name, .. } = self;
        Settings::Incomplete(finding(
            host::MISSING_SECRET_DATA,
            format!("Secret {namespace}/{name} of {field} has no {keys}: add what is missing"),
        ))
    }
}

fn finding(reason: &'static str, message: String) -> Finding {
    Finding { truth: Truth::False, reason, message }
}
