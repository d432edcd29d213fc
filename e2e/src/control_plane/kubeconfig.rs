//! Kubeconfig files: who one is, and where the API server is.

use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::pki::{Identity, write_private};
use crate::probe::install_crypto;

/// How a user proves who it is.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    Certificate(Identity),
    Token(String),
}

/// Writes a kubeconfig that needs no other file.
pub(crate) fn write(
    path: &Path,
    server: &str,
    authority: &str,
    user: &str,
    credential: &Credential,
    namespace: &str,
) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority-data": base64(authority)?}}],
        "users": [{"name": user, "user": credential_fields(credential)?}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": user, "namespace": namespace}}],
        "current-context": "local",
    });
    let text = serde_saphyr::to_string(&config).context("a kubeconfig")?;
    write_private(path, &text)?;
    Ok(())
}

fn credential_fields(credential: &Credential) -> Result<Value> {
    Ok(match credential {
        Credential::Certificate(identity) => json!({
            "client-certificate-data": base64(&identity.certificate)?,
            "client-key-data": base64(&identity.key)?,
        }),
        Credential::Token(token) => json!({"token": token}),
    })
}

/// Kubernetes writes bytes as base64, and its types know how.
pub(crate) fn base64(text: &str) -> Result<Value> {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).context("base64")
}

/// A client by a kubeconfig. It does not retry on its own: in these tests an
/// API server that is away is an answer.
pub async fn client(path: &Path) -> Result<Client> {
    install_crypto();
    let kubeconfig = Kubeconfig::read_from(path).with_context(|| format!("reading {}", path.display()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.with_context(|| format!("understanding {}", path.display()))?;
    config.default_retry = false;
    Client::try_from(config).context("a client")
}
