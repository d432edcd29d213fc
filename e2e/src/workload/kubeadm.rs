//! What `kubeadm init` leaves in a cluster for those who come later.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::management::{Claimant, Cluster};
use crate::wait::{self, Seen};

/// The API server makes kube-system a moment after it calls itself ready.
const LIMIT: Duration = Duration::from_secs(30);

/// The kubeadm control plane provider takes a cluster for initialised once this is there.
pub(super) async fn init(client: &Client, cluster: &Cluster, first: &Claimant) -> Result<()> {
    let configuration = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "clusterName": first.cluster.name,
        "controlPlaneEndpoint": cluster.endpoint.to_string(),
        "kubernetesVersion": first.version,
    });
    let configuration = serde_saphyr::to_string(&configuration).context("a ClusterConfiguration")?;
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kubeadm-config"},
        "data": {"ClusterConfiguration": configuration},
    });
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), "kube-system");
    let (config_maps, config_map) = (&config_maps, &config_map);
    wait::until("kubeadm-config to be written", LIMIT, || async move {
        let by = PatchParams::apply("kubeadm");
        config_maps.patch("kubeadm-config", &by, &Patch::Apply(config_map)).await?;
        Ok(Seen::Done(()))
    })
    .await?;
    Ok(())
}
