//! Objects as people write them, and as Cluster API would, where none runs.

use anyhow::Result;
use beskar7_api::{Beskar7Machine, PhysicalHost, cluster_api};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

/// The Cluster that machines belong to.
pub const CLUSTER: &str = "edge";

/// The Secret that a host names for its BMC, if nothing else is said.
pub const BMC_SECRET: &str = "bmc";

/// Puts one object into another; where both have something, the second one's counts.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// A namespace.
pub async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    Ok(())
}

/// A Secret with these texts.
pub async fn make_secret(client: &Client, namespace: &str, name: &str, data: &Value) -> Result<()> {
    let secret: Secret = serde_json::from_value(json!({"metadata": {"name": name}, "stringData": data}))?;
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &secret).await?;
    Ok(())
}

/// A host; `more` says where its BMC is, and changes the rest.
pub async fn make_host(client: &Client, namespace: &str, name: &str, more: &Value) -> Result<()> {
    let mut host = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": name},
        "spec": {"redfishConnection": {"address": "https://127.0.0.1:9", "credentialsSecretRef": BMC_SECRET}},
    });
    merge(&mut host, more);
    let host: PhysicalHost = serde_json::from_value(host)?;
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &host).await?;
    Ok(())
}

/// A Cluster whose infrastructure is ready, and the bootstrap data that its Machines share.
pub async fn make_cluster(client: &Client, namespace: &str) -> Result<()> {
    let cluster: cluster_api::Cluster = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": CLUSTER},
        "spec": {}, "status": {"initialization": {"infrastructureProvisioned": true}},
    }))?;
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &cluster).await?;
    make_secret(client, namespace, "bootstrap", &json!({"value": "#cloud-config"})).await
}

/// A Machine as Cluster API makes it, with its bootstrap data; `more` changes it.
pub async fn make_owner_machine(
    client: &Client,
    namespace: &str,
    name: &str,
    more: &Value,
) -> Result<cluster_api::Machine> {
    let mut machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": CLUSTER}},
        "spec": {
            "clusterName": CLUSTER, "bootstrap": {"dataSecretName": "bootstrap"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Beskar7Machine", "name": name},
        },
    });
    merge(&mut machine, more);
    let machine = serde_json::from_value(machine)?;
    Ok(Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &machine).await?)
}

/// The Beskar7Machine of a Machine, which boots `image`; `more` changes it.
pub async fn make_machine(
    client: &Client,
    namespace: &str,
    owner: &cluster_api::Machine,
    image: &str,
    more: &Value,
) -> Result<()> {
    let name = owner.name_any();
    let mut ours = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Machine",
        "metadata": {
            "name": name, "labels": {"cluster.x-k8s.io/cluster-name": CLUSTER},
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
                "uid": owner.metadata.uid, "controller": true}],
        },
        "spec": {"imageURL": image, "provisioningMode": "PreBakedISO"},
    });
    merge(&mut ours, more);
    let ours: Beskar7Machine = serde_json::from_value(ours)?;
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &ours).await?;
    Ok(())
}
