//! Beskar7Clusters and what they depend on, to write tests with.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use beskar7_api::{Beskar7Cluster, HostState, cluster_api};
use beskar7_e2e::wait::{self, Seen};
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, NamespaceResourceScope};
use kube::{Api, Resource};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::setup::*;
use super::shared::Shared;

/// The name of every Beskar7Cluster here; that of its Cluster is another.
pub const NAME: &str = "infra";
pub const OWNER: &str = "prod";
/// The condition that says most of a cluster.
pub const ENDPOINT: &str = "ControlPlaneEndpointReady";

impl Shared {
    pub async fn make<K>(&self, object: &Value) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + std::fmt::Debug,
        K: Serialize + DeserializeOwned,
    {
        let mut whole = json!({"apiVersion": K::api_version(&()), "kind": K::kind(&())});
        merge(&mut whole, object);
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        Ok(api.create(&PostParams::default(), &serde_json::from_value(whole)?).await?)
    }

    /// The Beskar7Cluster, and the Cluster that owns it.
    pub async fn make_cluster(&self, owner_spec: &Value, more: &Value) -> Result<()> {
        let owner = self.make_owner(owner_spec).await?;
        let mut cluster = json!({"metadata": {"name": NAME, "ownerReferences": [owner]}, "spec": {}});
        merge(&mut cluster, more);
        self.make::<Beskar7Cluster>(&cluster).await?;
        Ok(())
    }

    /// The Cluster, and how it is referred to.
    pub async fn make_owner(&self, spec: &Value) -> Result<Value> {
        let made: cluster_api::Cluster =
            self.make(&json!({"metadata": {"name": OWNER}, "spec": spec})).await?;
        Ok(owner_reference(&made))
    }

    pub async fn make_machine(&self, name: &str, more: &Value) -> Result<()> {
        let labels = json!({"cluster.x-k8s.io/control-plane": ""});
        let mut machine =
            json!({"metadata": {"name": name, "labels": labels}, "spec": {"clusterName": OWNER}});
        merge(&mut machine, more);
        self.make::<cluster_api::Machine>(&machine).await?;
        Ok(())
    }

    pub async fn make_control_plane(&self, replicas: i64, more: &Value) -> Result<()> {
        let mut object = json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
            "metadata": {"name": "kcp"}, "spec": {"replicas": replicas},
        });
        merge(&mut object, more);
        self.kubeadm().create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    }

    pub fn kubeadm(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane");
        let kind = ApiResource::from_gvk_with_plural(&kind, "kubeadmcontrolplanes");
        Api::namespaced_with(self.client.clone(), self.namespace, &kind)
    }

    pub fn clusters(&self) -> Api<Beskar7Cluster> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    pub async fn patch<K>(&self, name: &str, patch: &Value) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + std::fmt::Debug,
        K: DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until the endpoint's condition has this status and reason.
    pub async fn until(&self, status: &str, reason: &str) -> Result<Beskar7Cluster> {
        until(&self.clusters(), status, reason).await
    }

    /// Free hosts with these names and further fields, and the BMCs behind them.
    pub async fn free_hosts(&self, first: Ipv4Addr, hosts: &[(&str, Value)]) -> Result<Arc<Fleet>> {
        let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
        let fleet =
            Fleet::start(FleetConfig { count: hosts.len(), first, credentials, ..FleetConfig::default() })
                .await?;
        let data = json!({"username": "root", "password": PASSWORD});
        self.make::<Secret>(&json!({"metadata": {"name": "bmc"}, "stringData": data})).await?;
        for (number, (name, more)) in (0..).zip(hosts) {
            let address = fleet.url(Ipv4Addr::from(u32::from(first) + number));
            let mut host = json!({"spec": {"redfishConnection": {"address": address}}});
            merge(&mut host, more);
            make_host(&self.client, self.namespace, name, &host).await?;
        }
        for (name, _) in hosts {
            self.until_available(name).await?;
        }
        Ok(fleet)
    }

    pub async fn until_available(&self, name: &str) -> Result<()> {
        let found = wait::until_true(format!("{name} to be Available"), LIMIT, || async {
            let status = hosts(&self.client, self.namespace).get(name).await?.status;
            let state = status.as_ref().and_then(|status| status.state);
            Ok(if state == Some(HostState::Available) { Ok(()) } else { Err(format!("{status:?}")) })
        });
        Ok(found.await?)
    }

    pub async fn reserved(&self, name: &str) -> Result<Option<String>> {
        let kept_for = hosts(&self.client, self.namespace).get(name).await?.spec.reserved_for;
        Ok(kept_for.map(|kept_for| format!("{} {}/{}", kept_for.kind, kept_for.namespace, kept_for.name)))
    }
}

pub async fn until(clusters: &Api<Beskar7Cluster>, status: &str, reason: &str) -> Result<Beskar7Cluster> {
    let found = wait::until(format!("{ENDPOINT}={status} ({reason})"), LIMIT, || async {
        let cluster = clusters.get(NAME).await?;
        Ok(match said(&cluster, ENDPOINT) {
            (found, why, _) if found == status && why == reason => Seen::Done(cluster),
            other => Seen::NotYet(format!("{other:?}")),
        })
    });
    Ok(found.await?)
}

/// Status, reason and message of a condition.
pub fn said(cluster: &Beskar7Cluster, type_: &str) -> (String, String, String) {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    let found = conditions.into_iter().find(|condition| condition.type_ == type_);
    found.map(|found| (found.status.clone(), found.reason.clone(), found.message.clone())).unwrap_or_default()
}

/// The endpoint in spec and in status, as text.
pub fn endpoints(cluster: &Beskar7Cluster) -> [String; 2] {
    let status = cluster.status.as_ref().and_then(|status| status.control_plane_endpoint.as_ref());
    [cluster.spec.control_plane_endpoint.as_ref(), status]
        .map(|found| found.map(|found| format!("{}:{}", found.host, found.port)).unwrap_or_default())
}

pub fn provisioned(cluster: &Beskar7Cluster) -> bool {
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.and_then(|all| all.provisioned) == Some(true)
}

pub fn is_ready(cluster: &Beskar7Cluster) -> bool {
    cluster.status.as_ref().is_some_and(|status| status.ready)
}

/// With another UID the object would be collected as an orphan.
pub fn owner_reference(owner: &cluster_api::Cluster) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": OWNER, "uid": owner.metadata.uid,
    })
}

pub fn kubeadm_reference() -> Value {
    json!({"controlPlaneRef": {
        "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "kcp",
    }})
}

pub fn given(host: &str) -> Value {
    json!({"spec": {"controlPlaneEndpoint": {"host": host, "port": 6443}}})
}

pub fn declared(address: &str) -> Value {
    json!({"spec": {"addresses": [{"type": "InternalIP", "address": address}]}})
}

/// A Machine's status once its infrastructure is ready, as Cluster API writes it.
pub fn running(addresses: &Value) -> Value {
    let ready = json!({
        "type": "InfrastructureReady", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    });
    json!({"status": {"addresses": addresses, "conditions": [ready]}})
}

/// Waits until the Beskar7Cluster is gone.
pub async fn until_gone(shared: &Shared) -> Result<()> {
    let gone = wait::until_true("the Beskar7Cluster to be gone", LIMIT, || async {
        let left = shared.clusters().get_opt(NAME).await?;
        Ok(left.map_or(Ok(()), |left| Err(format!("{:?}", left.status))))
    });
    Ok(gone.await?)
}
