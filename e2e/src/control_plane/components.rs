//! The flags of etcd, kube-apiserver and kube-controller-manager.

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

pub(super) fn api_server(
    tools: &Tools,
    directory: &Directory,
    etcd: &Port,
    port: &Port,
    further: &[String],
) -> Result<Command> {
    let pki = |name: &str| directory.at("pki").join(name);
    Ok(Command::new("kube-apiserver", tools.path(Tool::KubeApiserver)?)
        .arg(format!("--etcd-servers=http://{}", etcd.address()))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .arg(format!("--secure-port={}", port.number()))
        // No pod looks for the API server, and the endpoints of a Service may
        // not be on the loopback address.
        .arg("--endpoint-reconciler-type=none")
        .arg("--service-cluster-ip-range=10.96.0.0/16")
        .arg("--authorization-mode=RBAC")
        .arg(flag("--client-ca-file", &pki("ca.crt")))
        .arg(flag("--tls-cert-file", &pki("apiserver.crt")))
        .arg(flag("--tls-private-key-file", &pki("apiserver.key")))
        .arg(flag("--token-auth-file", &pki("tokens.csv")))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(flag("--service-account-signing-key-file", &pki("service-accounts.key")))
        .arg(flag("--service-account-key-file", &pki("service-accounts.pub")))
        .arg(flag("--audit-policy-file", &pki("audit-policy.json")))
        .arg(flag("--audit-log-path", &directory.at("logs").join("audit.log")))
        // One file, never rotated away from the test that reads it.
        .arg("--audit-log-maxsize=0")
        .arg("--profiling=false")
        .args(further)
        .grace(Duration::from_secs(5)))
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

fn flag(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}
