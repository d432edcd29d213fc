//! Our release on a control plane, as `clusterctl` would install it, but for the Deployment: managers are started as
//! processes by whoever needs one.

use anyhow::Result;

use crate::control_plane::{ControlPlane, Options};
use crate::tools::Tools;
use crate::workspace;

/// The two kinds of Cluster API that the manager asks for, where no Cluster API runs.
pub const CLUSTER_API_KINDS: &str = include_str!("cluster-api-stub.yaml");

/// A control plane without anything of ours.
pub async fn bare() -> Result<ControlPlane> {
    ControlPlane::start(&Tools::control_plane_ready().await?, Options::default()).await
}

/// A control plane with our release, and the two kinds of Cluster API that the manager asks for.
pub async fn installed() -> Result<ControlPlane> {
    let plane = bare().await?;
    install(&plane).await?;
    Ok(plane)
}

/// Puts our release, and the two kinds of Cluster API that the manager asks for, on a control plane.
pub async fn install(plane: &ControlPlane) -> Result<()> {
    let release = workspace::root().join("config/default");
    let release = plane.kubectl(&["kustomize", &release.to_string_lossy()]).await?.success()?;
    let objects: Vec<&str> = release.split("\n---\n").filter(|object| !runs_pods(object)).collect();
    apply(plane, &objects.join("\n---\n")).await?;
    apply(plane, CLUSTER_API_KINDS).await?;
    let wait = ["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"];
    plane.kubectl(&wait).await?.success()?;
    Ok(())
}

/// Without the variables that clusterctl fills in, and without kubelets, these are of no use here.
fn runs_pods(object: &str) -> bool {
    ["Deployment", "Service", "PodDisruptionBudget"]
        .iter()
        .any(|kind| object.lines().any(|line| line == format!("kind: {kind}")))
}

/// `kubectl apply` of some YAML.
pub async fn apply(plane: &ControlPlane, objects: &str) -> Result<String> {
    plane.kubectl_with_input(&["apply", "-f", "-"], objects).await?.success()
}
