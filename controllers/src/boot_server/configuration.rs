//! What a machine is configured with: its Machine's bootstrap data, as it is now, and what it is told of itself.

use beskar7_api::{Beskar7Machine, PhysicalHost, labels};
use beskar7_boot::delivery::{Configuration, MetaData};
use beskar7_core::machine::{bootstrap_secret, provider_id};
use bytes::Bytes;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use super::Links;
use crate::{
    beskar7machine::Around,
    bootstrap_data::{self, Found},
    caches::Caches,
};

/// Where the Secret of a host has its network configuration.
const NETWORK_KEYS: [&str; 2] = ["network-config", "networkData"];

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigurationError {
    /// The one who holds the host is not known here, or has no bootstrap data.
    #[error("there is no bootstrap data for the host: its Machine, or the Machine's Secret, is not there")]
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
    let machine = consumer(caches, host).ok_or(ConfigurationError::Nothing)?;
    let around = Around::of(&machine, caches);
    let view = around.view();
    let secret = bootstrap_secret(&view).ok_or(ConfigurationError::Nothing)?;
    let namespace = machine.namespace().unwrap_or_default();
    let user_data = match bootstrap_data::read(client, &namespace, secret).await? {
        Found::Data(data) => Bytes::from(data.value),
        Found::Absent | Found::Empty => return Err(ConfigurationError::Nothing),
    };
    let meta_data = MetaData {
        instance_id: links.instance_id(&host.name_any(), claim),
        hostname: machine.name_any(),
        provider_id: provider_id(host),
        zone: host.labels().get(labels::ZONE).cloned(),
        host: host.name_any(),
        namespace: host.namespace().unwrap_or_default(),
        cluster: view.machine().map(|machine| machine.spec.cluster_name.clone()),
        uuid: host.status.as_ref().and_then(|status| status.hardware_details.as_ref()?.hardware.uuid.clone()),
        phone_home_url: links.phone_home(claim),
    };
    Ok(Configuration { user_data, meta_data, network_config: network_config(client, host).await? })
}

/// The Beskar7Machine that holds a host.
fn consumer(caches: &Caches, host: &PhysicalHost) -> Option<std::sync::Arc<Beskar7Machine>> {
    let reference = host.spec.consumer_ref.as_ref()?;
    let named = (reference.namespace.clone()?, reference.name.clone()?);
    (reference.kind.as_deref() == Some("Beskar7Machine")).then(|| caches.machines.get(&named))?
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
