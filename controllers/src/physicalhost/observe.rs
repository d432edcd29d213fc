//! Reads what a decision about a host needs: its Secrets, and what its BMC says. What is in Secrets goes to the BMC and
//! nowhere else; decisions learn which keys hold something.

use std::{collections::BTreeSet, sync::Arc};

use beskar7_api::{
    PhysicalHost, annotations, conditions::host as reasons, physical_host::RedfishConnection, secret_keys,
};
use beskar7_core::host::{
    self, Observed,
    awaiting::may_lose_its_medium,
    connection::{SecretView, Secrets},
    contact::{Contact, Trouble},
    discovery::{AnotherMachine, is_discovered},
};
use beskar7_redfish::{Credentials, Error, MachineUuid, System, Trust};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use super::{
    Key,
    bmcs::{Bmcs, Known, Settings},
    sighting, trouble,
};
use crate::causes::causes;

/// What was found, and the BMC that can be told something.
pub(super) struct Found {
    pub(super) secrets: Secrets,
    pub(super) contact: Contact,
    pub(super) known: Option<Arc<Known>>,
}

impl Found {
    /// As a decision takes it, with what went wrong when something was done last.
    pub(super) fn observed(
        self,
        host: &PhysicalHost,
        trouble: Option<Trouble>,
        consumer_exists: Option<bool>,
    ) -> Observed {
        let (sight, emptied, inspected) = (None, None, None);
        let (secrets, contact) = (self.secrets, self.contact);
        let another = another_machine(host, &contact);
        Observed { secrets, contact, consumer_exists, trouble, sight, emptied, inspected, another }
    }
}

/// Asks a host's BMC, after its Secrets where they were not read lately.
pub(super) async fn observe(client: &Client, bmcs: &Bmcs, key: &Key, host: &PhysicalHost) -> Found {
    if let Some(known) = bmcs.fresh(key, &host.spec.redfish_connection) {
        match known.look().await {
            // They may have been changed a moment ago.
            Err(Error::BadCredentials { .. }) => bmcs.forget(key),
            looked => return found(complete(), known, looked, host).await,
        }
    }
    let read = Read::of(client, host).await;
    let secrets = read.views();
    if !host::may_be_asked(host, &secrets) {
        bmcs.forget(key);
        return Found { secrets, contact: Contact::NotTried, known: None };
    }
    match bmcs.take_up(key, read.settings(&host.spec.redfish_connection)) {
        Ok(known) => {
            let looked = known.look().await;
            found(secrets, known, looked, host).await
        }
        Err(error) => {
            let trouble = Trouble {
                reason: reasons::REDFISH_CONNECTION_FAILED,
                message: causes(&error),
                passes: false,
            };
            Found { secrets, contact: Contact::Failed(trouble), known: None }
        }
    }
}

async fn found(
    secrets: Secrets,
    known: Arc<Known>,
    looked: Result<System, Error>,
    host: &PhysicalHost,
) -> Found {
    let contact = match looked {
        Ok(system) => {
            let mut sighting = sighting::sighting(&system);
            sighting.seen.medium = medium(&known, &system, host).await;
            Contact::Answered(Box::new(sighting))
        }
        Err(error) => Contact::Failed(trouble::of_contact(&error)),
    };
    Found { secrets, contact, known: Some(known) }
}

/// Whether the agent saw another machine than the BMC is in. What many machines are called says nothing; and a BMC that does
/// not answer now is in the machine that it told of last.
fn another_machine(host: &PhysicalHost, contact: &Contact) -> Option<AnotherMachine> {
    if !is_discovered(host) {
        return None;
    }
    let details = || host.status.as_ref()?.hardware_details.as_ref();
    let told = match contact {
        Contact::Answered(sighting) => sighting.hardware.uuid.as_deref(),
        Contact::NotTried | Contact::Failed(_) => details().and_then(|known| known.hardware.uuid.as_deref()),
    };
    let inspected = host.annotations().get(annotations::INSPECTED_UUID)?;
    let (seen, told) = (MachineUuid::real(inspected)?, MachineUuid::real(told?)?);
    let another = AnotherMachine { inspected: seen.to_string(), told: told.to_string() };
    (!seen.is_same_machine(told)).then_some(another)
}

/// Whether the machine still has what it is to boot from, where that matters. A drive that can't be looked at says
/// nothing.
async fn medium(known: &Known, system: &System, host: &PhysicalHost) -> Option<bool> {
    if !may_lose_its_medium(host) {
        return None;
    }
    let looked = known.has_medium(system).await;
    looked.inspect_err(|error| tracing::debug!(error = causes(error), "no look into the drives")).ok()
}

/// Secrets that were complete when they were read last.
fn complete() -> Secrets {
    let keys = [secret_keys::USERNAME, secret_keys::PASSWORD, secret_keys::CA_CERTIFICATE];
    let view = SecretView::Found(keys.iter().map(ToString::to_string).collect());
    Secrets { credentials: Some(view.clone()), ca_bundle: Some(view), only_for: None }
}

/// The Secrets that a host names, as they were read.
struct Read {
    credentials: Option<Result<Option<Secret>, kube::Error>>,
    ca_bundle: Option<Result<Option<Secret>, kube::Error>>,
}

impl Read {
    /// By name, in the host's own namespace.
    async fn of(client: &Client, host: &PhysicalHost) -> Self {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
        let connection = &host.spec.redfish_connection;
        let credentials = match connection.credentials_secret_ref.as_str() {
            "" => None,
            name => Some(secrets.get_opt(name).await),
        };
        let ca_bundle = match &connection.ca_bundle_secret_ref {
            Some(reference) => Some(secrets.get_opt(&reference.name).await),
            None => None,
        };
        Self { credentials, ca_bundle }
    }

    fn views(&self) -> Secrets {
        let only_for = match &self.credentials {
            Some(Ok(Some(secret))) => secret.annotations().get(annotations::BMC_ADDRESSES).cloned(),
            Some(Ok(None) | Err(_)) | None => None,
        };
        let (credentials, ca_bundle) =
            (self.credentials.as_ref().map(view), self.ca_bundle.as_ref().map(view));
        Secrets { credentials, ca_bundle, only_for }
    }

    fn settings(&self, connection: &RedfishConnection) -> Settings {
        let text =
            |name| String::from_utf8_lossy(value(&self.credentials, name).unwrap_or_default()).into_owned();
        let credentials = Credentials::new(text(secret_keys::USERNAME), text(secret_keys::PASSWORD));
        let bundle = value(&self.ca_bundle, secret_keys::CA_CERTIFICATE)
            .or_else(|| value(&self.ca_bundle, secret_keys::TLS_CERTIFICATE));
        let trust = match (connection.insecure_skip_verify, bundle) {
            (true, _) => Trust::Anything,
            (false, Some(pem)) => Trust::Bundle(pem.into()),
            (false, None) => Trust::SystemRoots,
        };
        Settings { connection: connection.clone(), credentials, trust }
    }
}

/// What a key of a Secret holds, if it holds something.
fn value<'a>(read: &'a Option<Result<Option<Secret>, kube::Error>>, key: &str) -> Option<&'a [u8]> {
    let Some(Ok(Some(secret))) = read else { return None };
    let value = secret.data.as_ref()?.get(key)?;
    (!value.0.is_empty()).then_some(value.0.as_slice())
}

fn view(read: &Result<Option<Secret>, kube::Error>) -> SecretView {
    match read {
        Ok(Some(secret)) => SecretView::Found(filled_keys(secret)),
        Ok(None) => SecretView::Absent,
        Err(error) => SecretView::Unreadable(in_short(error)),
    }
}

fn filled_keys(secret: &Secret) -> BTreeSet<String> {
    secret
        .data
        .iter()
        .flatten()
        .filter(|(_, value)| !value.0.is_empty())
        .map(|(key, _)| key.clone())
        .collect()
}

/// The same words for the same failure: they end up in a condition, which must not change with every try.
fn in_short(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return "the API server did not answer".to_owned() };
    if status.code == 403 {
        return "the manager is not allowed to; grant it `get` on secrets in this namespace".to_owned();
    }
    format!("the API server answered {} {}", status.code, status.reason)
}

#[cfg(test)]
mod tests {
    use beskar7_api::labels;

    use super::*;

    #[test]
    fn a_discovered_machine_is_told_from_the_one_that_its_bmc_is_in() {
        const SEEN: &str = "38947555-7742-3448-3784-823347823834";
        let host = |discovered: bool, seen: Option<&str>| {
            let label = if discovered { labels::DISCOVERED } else { labels::ZONE };
            serde_json::from_value::<PhysicalHost>(serde_json::json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
                "metadata": {"name": "h", "labels": {label: "a"}, "annotations": {annotations::INSPECTED_UUID: seen.unwrap_or_default()}},
                "spec": {"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}},
            }))
            .unwrap()
        };
        let other = "48947555-7742-3448-3784-823347823834";
        for (discovered, seen, told, expected) in [
            (true, Some(SEEN), Some(other), true),
            (true, Some(SEEN), Some(SEEN), false),
            (
                true,
                Some("38947555-7742-3448-3784-823347823834"),
                Some("55759438-4277-4834-3784-823347823834"),
                false,
            ),
            (true, Some("03000200-0400-0500-0006-000700080009"), Some(other), false),
            (true, Some(SEEN), None, false),
            (true, None, Some(other), false),
            // Nobody said that this is how it was found.
            (false, Some(SEEN), Some(other), false),
        ] {
            let mut host = host(discovered, seen);
            let status = serde_json::json!({"hardwareDetails": {"uuid": told}});
            host.status = serde_json::from_value(status).unwrap();
            // As it was told last, by a BMC that does not answer now.
            let found = another_machine(&host, &Contact::NotTried);
            assert_eq!(found.is_some(), expected, "{discovered} {seen:?} {told:?}");
        }
    }

    #[test]
    fn only_keys_that_hold_something_count() {
        let secret: Secret = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "bmc"},
            "data": {"username": "cm9vdA==", "password": ""},
        }))
        .unwrap();
        assert_eq!(filled_keys(&secret), BTreeSet::from(["username".to_owned()]));
        assert_eq!(filled_keys(&Secret::default()), BTreeSet::new());
    }

    #[test]
    fn failures_are_told_in_words_that_stay() {
        let answered = |code: u16, reason: &str| {
            let status = serde_json::json!({
                "status": "Failure", "code": code, "reason": reason, "message": format!("request {}", fastrand::u64(..)),
            });
            in_short(&kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
        };
        assert!(answered(403, "Forbidden").contains("grant it `get` on secrets"));
        assert_eq!(answered(500, "InternalError"), answered(500, "InternalError"));
        let lost = kube::Error::Service("connection 0x1234 reset".into());
        assert_eq!(in_short(&lost), "the API server did not answer");
    }
}
