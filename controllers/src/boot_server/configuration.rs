//! What a machine is configured with: its Machine's bootstrap data, as it is now, or what its tenant gave it, and what it
//! is told of itself.

use std::{collections::BTreeMap, sync::Arc};

use beskar7_api::{Beskar7Machine, HostClaim, PhysicalHost, labels};
use beskar7_boot::delivery::{Configuration, MetaData};
use beskar7_core::{
    hostclaim::{Part, sources},
    machine::{bootstrap_secret, provider_id},
};
use bytes::Bytes;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use super::Links;
use crate::{
    beskar7machine::Around,
    bootstrap_data::{self, Found},
    caches::Caches,
    claim::held_by,
    copies::{self, Copies},
};

/// Where the Secret of a host has its network configuration.
const NETWORK_KEYS: [&str; 2] = ["network-config", "networkData"];
/// cloud-init takes no metadata without user data.
const NO_USER_DATA: &[u8] = b"#cloud-config\n{}\n";

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigurationError {
    /// The one who holds the host is not known here, or has no configuration.
    #[error("there is no configuration for the host: who holds it, or its Secret, is not there")]
    Nothing,
    /// The API server does not give it.
    #[error("the API server does not give what is needed")]
    Unreadable(#[from] kube::Error),
}

/// What the machine on a host is configured with.
pub(super) async fn configuration(
    client: &Client,
    caches: &Caches,
    links: &Links,
    host: &PhysicalHost,
    claim: &str,
) -> Result<Configuration, ConfigurationError> {
    match consumer(caches, host).ok_or(ConfigurationError::Nothing)? {
        Consumer::Machine(machine) => of_machine(client, caches, links, (host, claim), &machine).await,
        Consumer::Claim(tenants) => of_claim(client, links, (host, claim), &tenants).await,
    }
}

async fn of_machine(
    client: &Client,
    caches: &Caches,
    links: &Links,
    (host, claim): (&PhysicalHost, &str),
    machine: &Beskar7Machine,
) -> Result<Configuration, ConfigurationError> {
    let around = Around::of(machine, caches);
    let view = around.view();
    let secret = bootstrap_secret(&view).ok_or(ConfigurationError::Nothing)?;
    let namespace = machine.namespace().unwrap_or_default();
    let user_data = match bootstrap_data::read(client, &namespace, secret).await? {
        Found::Data(data) => Bytes::from(data.value),
        Found::Absent | Found::Empty => return Err(ConfigurationError::Nothing),
    };
    let meta_data = MetaData {
        cluster: view.machine().map(|machine| machine.spec.cluster_name.clone()),
        ..meta_data(links, host, claim, machine.name_any())
    };
    Ok(Configuration { user_data, meta_data, network_config: network_config(client, host).await? })
}

/// From the copies that were made for this very claim; all that its tenant names must be there.
async fn of_claim(
    client: &Client,
    links: &Links,
    (host, claim): (&PhysicalHost, &str),
    tenants: &HostClaim,
) -> Result<Configuration, ConfigurationError> {
    let copies = Copies::new(client.clone());
    let named = sources(tenants).map_err(|_refused| ConfigurationError::Nothing)?;
    let mut parts = BTreeMap::new();
    for part in named.iter().map(|source| source.part) {
        let copy = copies.read(host, claim, part).await?.ok_or(ConfigurationError::Nothing)?;
        parts.insert(part, Bytes::from(copy));
    }
    let more = match parts.get(&Part::MetaData) {
        Some(text) => copies::meta_data(text).ok_or(ConfigurationError::Nothing)?,
        None => BTreeMap::new(),
    };
    let network_config = match parts.remove(&Part::NetworkData) {
        Some(tenants) => Some(tenants),
        None => network_config(client, host).await?,
    };
    Ok(Configuration {
        user_data: parts.remove(&Part::UserData).unwrap_or(Bytes::from_static(NO_USER_DATA)),
        meta_data: MetaData { more, ..meta_data(links, host, claim, tenants.name_any()) },
        network_config,
    })
}

fn meta_data(links: &Links, host: &PhysicalHost, claim: &str, hostname: String) -> MetaData {
    MetaData {
        instance_id: links.instance_id(&host.name_any(), claim),
        hostname,
        provider_id: provider_id(host),
        zone: host.labels().get(labels::ZONE).cloned(),
        host: host.name_any(),
        namespace: host.namespace().unwrap_or_default(),
        cluster: None,
        uuid: host.status.as_ref().and_then(|status| status.hardware_details.as_ref()?.hardware.uuid.clone()),
        phone_home_url: links.phone_home(claim),
        more: BTreeMap::new(),
    }
}

/// Who holds a host.
enum Consumer {
    Machine(Arc<Beskar7Machine>),
    Claim(Arc<HostClaim>),
}

fn consumer(caches: &Caches, host: &PhysicalHost) -> Option<Consumer> {
    let machine = || caches.machines.get(&held_by::<Beskar7Machine>(host)?).map(Consumer::Machine);
    let claim = || caches.claims.get(&held_by::<HostClaim>(host)?).map(Consumer::Claim);
    machine().or_else(claim)
}

/// How the platform team wants a host's network set up: as a Secret of the host says, or by DHCP on the interface that it
/// boots from, where that is known.
async fn network_config(client: &Client, host: &PhysicalHost) -> Result<Option<Bytes>, kube::Error> {
    let named = host.spec.user_data_secret_ref.as_ref().and_then(|reference| reference.name.as_deref());
    if let Some(name) = named {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
        let mut data = secrets.get_opt(name).await?.and_then(|secret| secret.data).unwrap_or_default();
        if let Some(found) = NETWORK_KEYS.iter().find_map(|key| data.remove(*key)) {
            return Ok(Some(Bytes::from(found.0)));
        }
    }
    Ok(host.spec.boot_mac_address.as_deref().map(by_dhcp))
}

/// NoCloud's network-config, version 2.
fn by_dhcp(mac: &str) -> Bytes {
    let mac = mac.to_ascii_lowercase();
    Bytes::from(format!(
        "version: 2\nethernets:\n  boot:\n    match: {{macaddress: \"{mac}\"}}\n    dhcp4: true\n"
    ))
}
