//! The flags of etcd and kube-controller-manager.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::directory::Directory;
use crate::ports::Port;
use crate::process::Command;
use crate::tools::{Tool, Tools};

/// What kube-controller-manager does here. Without it namespaces stay in
/// Terminating, owner references are never followed and aggregated roles stay
/// empty; the status controller reports type errors in admission policies.
/// Everything about pods and nodes is left out: there are none.
pub(super) const CONTROLLERS: [&str; 4] = [
    "namespace-controller",
    "garbage-collector-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
];

pub(super) fn etcd(tools: &Tools, directory: &Directory, client: &Port, peer: &Port) -> Result<Command> {
    let client = format!("http://{}", client.address());
    let peer = format!("http://{}", peer.address());
    Ok(Command::new("etcd", tools.path(Tool::Etcd)?)
        .arg("--name=local")
        .arg(flag("--data-dir", &directory.at("etcd")))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=local={peer}"))
        // A test's data need not survive a power cut.
        .arg("--unsafe-no-fsync")
        .args(["--log-level=warn", "--log-format=console", "--log-outputs=stderr"])
        .grace(Duration::from_secs(3)))
}

pub(super) fn controller_manager(
    tools: &Tools,
    directory: &Directory,
    kubeconfig: &Path,
    port: &Port,
) -> Result<Command> {
    let pki = |name: &str| directory.at("pki").join(name);
    Ok(Command::new("kube-controller-manager", tools.path(Tool::KubeControllerManager)?)
        .arg(flag("--kubeconfig", kubeconfig))
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        // Each controller acts under its own role, as in a real cluster.
        .arg("--use-service-account-credentials=true")
        .arg("--leader-elect=false")
        .args(["--bind-address=127.0.0.1", "--profiling=false"])
        .arg(format!("--secure-port={}", port.number()))
        .arg(flag("--tls-cert-file", &pki("apiserver.crt")))
        .arg(flag("--tls-private-key-file", &pki("apiserver.key")))
        .grace(Duration::from_secs(3)))
}

pub(super) fn flag(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}
