//! Writes nodes into a workload cluster and takes them out of it.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::management::Claimant;
use super::node::{self, COMPONENTS, Hardware, Kubelet};
use crate::wait::{self, Seen};

/// What one change of a node may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) struct Registry {
    nodes: Api<Node>,
    pods: Api<Pod>,
}

impl Registry {
    pub(super) fn new(client: &Client) -> Self {
        let pods = Api::namespaced(client.clone(), "kube-system");
        Self { nodes: Api::all(client.clone()), pods }
    }

    /// A kubelet starts: its node is there and Ready, and so is what it runs.
    pub(super) async fn start(&self, claimant: &Claimant, hardware: &Hardware) -> Result<()> {
        let name = claimant.machine.as_str();
        if self.nodes.get_opt(name).await?.is_none() {
            self.nodes.create(&PostParams::default(), &node::node(claimant)).await.context("its Node")?;
        }
        if claimant.control_plane {
            for component in COMPONENTS {
                self.run(component, claimant).await.with_context(|| format!("its {component}"))?;
            }
        }
        self.set(name, Kubelet::Posts, &node::status(claimant, hardware)).await
    }

    /// A kubelet has fallen silent: its node is neither Ready nor known to be anything else.
    pub(super) async fn lose(&self, name: &str) -> Result<()> {
        self.set(name, Kubelet::Silent, &node::lost()).await
    }

    /// The names of the nodes that are there.
    pub(super) async fn names(&self) -> Result<Vec<String>> {
        Ok(self.nodes.list(&ListParams::default()).await?.iter().map(ResourceExt::name_any).collect())
    }

    /// Takes a node out, and what ran on it.
    pub(super) async fn remove(&self, name: &str) -> Result<()> {
        for component in COMPONENTS {
            let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
            unless_gone(self.pods.delete(&node::pod_name(component, name), &at_once).await)?;
        }
        unless_gone(self.nodes.delete(name, &DeleteParams::default()).await)?;
        Ok(())
    }

    async fn run(&self, component: &str, claimant: &Claimant) -> Result<()> {
        let name = node::pod_name(component, &claimant.machine);
        if self.pods.get_opt(&name).await?.is_none() {
            let pod = node::static_pod(component, claimant)?;
            self.pods.create(&PostParams::default(), &pod).await?;
        }
        let status = Patch::Merge(node::pod_status());
        self.pods.patch_status(&name, &PatchParams::default(), &status).await?;
        Ok(())
    }

    /// Writes status and taints. Others write taints too: who loses the race looks again. Nothing is done for a node
    /// that is gone.
    async fn set(&self, name: &str, kubelet: Kubelet, status: &Value) -> Result<()> {
        let what = format!("the node {name} to say that its kubelet is {kubelet:?}");
        wait::until(what, LIMIT, || async move {
            let written = self.nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await;
            let Some(node) = unless_gone(written)? else { return Ok(Seen::Done(())) };
            let before = node.spec.unwrap_or_default().taints.unwrap_or_default();
            let patch = json!({
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": node::taints(before, kubelet)},
            });
            let written = self.nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
            unless_gone(written)?;
            Ok(Seen::Done(()))
        })
        .await?;
        Ok(())
    }
}

/// Nothing instead of an error for what does not exist any more.
fn unless_gone<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
