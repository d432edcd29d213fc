//! What a kubeadm control plane asks for when its etcd is external: two Secrets with keys that nobody uses here, because
//! the etcd that the clusters share asks for none.

use anyhow::Result;
use serde_json::{Value, json};

use super::management::{ClusterName, Management};
use crate::control_plane::pki::{Authority, Identity};

/// Writes the Secrets and returns the part of a ClusterConfiguration that names such an etcd.
pub(super) async fn write(management: &Management, cluster: &ClusterName, url: &str) -> Result<Value> {
    let authority = Authority::new("external etcd")?;
    // Without a key: that is how the control plane provider knows that it is not its own to sign with.
    let trusted = Identity { certificate: authority.certificate().to_owned(), key: String::new() };
    management.write_keys(cluster, "etcd", &trusted).await?;
    let client = authority.client("kube-apiserver-etcd-client", None)?;
    management.write_keys(cluster, "apiserver-etcd-client", &client).await?;
    let at = |file: &str| format!("/etc/kubernetes/pki/{file}");
    Ok(json!({"external": {
        "endpoints": [url.replacen("http://", "https://", 1)],
        "caFile": at("etcd/ca.crt"),
        "certFile": at("apiserver-etcd-client.crt"),
        "keyFile": at("apiserver-etcd-client.key"),
    }}))
}
