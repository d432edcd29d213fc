//! What the management cluster knows of a machine that has booted, from the address of its BMC to the Cluster that it
//! is a node of.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use beskar7_api::cluster::ApiEndpoint;
use beskar7_api::{Beskar7Machine, PhysicalHost, cluster_api, labels};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use reqwest::Url;
use serde_json::json;

use crate::control_plane::pki::Identity;

/// A Cluster by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClusterName {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Whose machine it is that has booted.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    pub(super) cluster: ClusterName,
    /// The Machine's name, which is its Node's too.
    pub(super) machine: String,
    pub(super) control_plane: bool,
    /// The Kubernetes version that the Machine wants.
    pub(super) version: String,
    /// What its kubelet is told, if it is.
    pub(super) provider_id: Option<String>,
    /// The claim by which it holds the host.
    pub(super) claim: String,
}

/// A Cluster as far as its API server has to know it.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    /// Another Cluster of the same name has another.
    pub(super) uid: String,
    /// Where its API server is to be.
    pub(super) endpoint: SocketAddr,
}

/// A certificate, or public key, and its private key, PEM.
pub(super) struct KeyPair {
    pub(super) public: String,
    pub(super) private: String,
}

/// Questions to the management cluster.
pub(super) struct Management {
    client: Mutex<Client>,
}

impl Management {
    pub(super) fn new(client: Client) -> Self {
        Self { client: Mutex::new(client) }
    }

    /// From now on it is this one: everything was moved.
    pub(super) fn is_at(&self, client: Client) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn client(&self) -> Client {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who holds the host whose BMC has this address; none if that is no Beskar7Machine.
    pub(super) async fn claimant(&self, bmc: Ipv4Addr) -> Result<Option<Claimant>> {
        let hosts = Api::<PhysicalHost>::all(self.client()).list(&ListParams::default()).await?;
        let host = hosts.into_iter().find(|host| is_at(&host.spec.redfish_connection.address, bmc));
        let host = host.with_context(|| format!("no PhysicalHost has the address {bmc}"))?;
        let namespace = host.namespace().unwrap_or_default();
        let (Some(consumer), Some(claim)) = (&host.spec.consumer_ref, &host.spec.claim_id) else {
            return Ok(None);
        };
        if consumer.kind.as_deref() != Some("Beskar7Machine") {
            return Ok(None);
        }
        let (within, name) = (consumer.namespace.as_ref().unwrap_or(&namespace), consumer.name.as_deref());
        let provider_id = format!("b7://{namespace}/{}", host.name_any());
        let ours = Api::<Beskar7Machine>::namespaced(self.client(), within)
            .get(name.context("a consumerRef without a name")?)
            .await?;
        let owner = ours.owner_references().iter().find(|owner| owner.kind == "Machine");
        let owner = owner.with_context(|| format!("no Machine owns {}", ours.name_any()))?;
        let machine = self.machines_in(within).get(&owner.name).await?;
        let text =
            |path: &str| machine.data.pointer(path).and_then(|value| value.as_str()).map(str::to_owned);
        Ok(Some(Claimant {
            cluster: ClusterName {
                namespace: within.clone(),
                name: text("/spec/clusterName").context("a Machine without clusterName")?,
            },
            control_plane: machine.labels().contains_key(labels::CONTROL_PLANE),
            version: text("/spec/version").unwrap_or_default(),
            machine: machine.name_any(),
            provider_id: Some(provider_id),
            claim: claim.clone(),
        }))
    }

    /// A Cluster, if it is there.
    pub(super) async fn cluster(&self, name: &ClusterName) -> Result<Option<Cluster>> {
        let clusters = Api::<cluster_api::Cluster>::namespaced(self.client(), &name.namespace);
        let Some(found) = clusters.get_opt(&name.name).await? else { return Ok(None) };
        let ApiEndpoint { host, port } = found.spec.control_plane_endpoint.clone().unwrap_or_default();
        let address: IpAddr = host.parse().with_context(|| format!("{name}: the endpoint {host:?}"))?;
        if !address.is_loopback() {
            bail!("the endpoint of {name}, {address}, is not on this machine");
        }
        let endpoint = SocketAddr::new(address, u16::try_from(port).context("the endpoint's port")?);
        Ok(Some(Cluster { uid: found.uid().unwrap_or_default(), endpoint }))
    }

    /// The names of a Cluster's Machines.
    pub(super) async fn machines(&self, cluster: &ClusterName) -> Result<BTreeSet<String>> {
        let all = self.machines_in(&cluster.namespace);
        let selected = ListParams::default().labels(&format!("{}={}", labels::CLUSTER_NAME, cluster.name));
        Ok(all.list(&selected).await?.iter().map(ResourceExt::name_any).collect())
    }

    /// Keys that Cluster API has made for a Cluster: `ca`, `sa`, …
    pub(super) async fn keys(&self, cluster: &ClusterName, purpose: &str) -> Result<KeyPair> {
        let secrets = Api::<Secret>::namespaced(self.client(), &cluster.namespace);
        let name = format!("{}-{purpose}", cluster.name);
        let data = secrets.get(&name).await?.data.unwrap_or_default();
        let text = |key: &str| {
            let bytes = data.get(key).with_context(|| format!("the Secret {name} has no {key}"))?;
            String::from_utf8(bytes.0.clone()).with_context(|| format!("{key} in the Secret {name}"))
        };
        Ok(KeyPair { public: text("tls.crt")?, private: text("tls.key")? })
    }

    /// Keys that a person would have to give to Cluster API; an empty one is left out.
    pub(super) async fn write_keys(
        &self,
        cluster: &ClusterName,
        purpose: &str,
        keys: &Identity,
    ) -> Result<()> {
        let mut data = serde_json::Map::new();
        data.insert("tls.crt".to_owned(), json!(keys.certificate));
        if !keys.key.is_empty() {
            data.insert("tls.key".to_owned(), json!(keys.key));
        }
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {
                "name": format!("{}-{purpose}", cluster.name),
                "labels": {labels::CLUSTER_NAME: cluster.name},
            },
            "type": "cluster.x-k8s.io/secret",
            "stringData": data,
        }))?;
        let secrets = Api::<Secret>::namespaced(self.client(), &cluster.namespace);
        secrets.create(&PostParams::default(), &secret).await?;
        Ok(())
    }

    fn machines_in(&self, namespace: &str) -> Api<DynamicObject> {
        let kind = ApiResource::erase::<cluster_api::Machine>(&());
        Api::namespaced_with(self.client(), namespace, &kind)
    }
}

/// Whether the address of a BMC, as a PhysicalHost has it, is this one.
fn is_at(address: &str, bmc: Ipv4Addr) -> bool {
    let host = Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| host == bmc.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_the_address_of_its_bmc() {
        let bmc = Ipv4Addr::new(127, 20, 0, 1);
        assert!(is_at("http://127.20.0.1:8000", bmc) && is_at("https://127.20.0.1/redfish/v1", bmc));
        assert!(!is_at("http://127.20.0.10:8000", bmc) && !is_at("127.20.0.1", bmc) && !is_at("", bmc));
    }
}
