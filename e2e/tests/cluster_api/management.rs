//! A management cluster: a control plane with Cluster API and our manager, and what people ask of it with `kubectl` and
//! `clusterctl`.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use beskar7_api::cluster_api;
use beskar7_e2e::cluster_api::{ClusterApi, Infrastructure, Managers};
use beskar7_e2e::control_plane::{ControlPlane, Options};
use beskar7_e2e::manager::{self, Manager};
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::stack::{LIMIT, NAMESPACE};

/// What runs of it. The fields end in this order.
pub struct Management {
    pub manager: Manager,
    pub managers: Managers,
    pub cluster_api: ClusterApi,
    pub plane: ControlPlane,
    pub client: Client,
}

impl Management {
    /// Installs Cluster API and our release with `clusterctl`, and starts their managers.
    pub async fn start() -> Result<Self> {
        let plane = ControlPlane::start(&Tools::ready().await?, Options::default()).await?;
        let cluster_api = ClusterApi::prepare(&plane, Infrastructure::default()).await?;
        cluster_api.init().await?.success()?;
        let managers = cluster_api.start_managers(&plane).await?;
        let flags = ["--bmc-poll-interval=2s", "--boot-timeout=1m", "-v=4"].map(str::to_owned).into();
        let options =
            manager::Options { leader_elect: false, boot_server: true, flags, ..manager::Options::default() };
        let manager = Manager::start(&plane, &options).await?;
        let client = plane.client().await?;
        Ok(Self { manager, managers, cluster_api, plane, client })
    }

    /// Writes an object of any kind.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        self.plane.kubectl_with_input(&["apply", "-f", "-"], &object.to_string()).await?.success()?;
        Ok(())
    }

    /// A merge patch on an object by its kind and name.
    pub async fn merge(&self, kind: &str, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        let arguments = ["-n", NAMESPACE, "patch", kind, name, "--type=merge", "-p", &patch];
        self.plane.kubectl(&arguments).await?.success()?;
        Ok(())
    }

    /// Changes the topology of a Cluster as somebody with an editor does.
    pub async fn edit(&self, cluster: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
        let mut found = self.get("cluster", cluster).await?;
        change(&mut found["spec"]["topology"]);
        self.merge("cluster", cluster, &json!({"spec": {"topology": found["spec"]["topology"]}})).await
    }

    /// An object of any kind.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Value> {
        let found =
            self.plane.kubectl(&["-n", NAMESPACE, "get", kind, name, "-o", "json"]).await?.success()?;
        serde_json::from_str(&found).with_context(|| format!("reading {kind} {name}"))
    }

    /// What `clusterctl describe` shows of a cluster: every object, every condition, no colours.
    pub async fn describe(&self, cluster: &str) -> Result<String> {
        let show = ["--show-conditions", "all", "--echo", "--grouping=false", "--color=false"];
        let arguments = [["describe", "cluster", cluster, "-n", NAMESPACE].as_slice(), &show].concat();
        self.cluster_api.clusterctl(&arguments).await?.success()
    }

    /// The names of a Cluster's Machines.
    pub async fn machines(&self, cluster: &str) -> Result<BTreeSet<String>> {
        self.labelled(&format!("cluster.x-k8s.io/cluster-name={cluster}")).await
    }

    /// The names of a MachineDeployment's Machines.
    pub async fn machines_of(&self, deployment: &str) -> Result<BTreeSet<String>> {
        self.labelled(&format!("cluster.x-k8s.io/deployment-name={deployment}")).await
    }

    async fn labelled(&self, selector: &str) -> Result<BTreeSet<String>> {
        let machines = Api::<cluster_api::Machine>::namespaced(self.client.clone(), NAMESPACE);
        let found = machines.list(&ListParams::default().labels(selector)).await?;
        Ok(found.iter().map(ResourceExt::name_any).collect())
    }

    /// The host that a Machine holds.
    pub async fn host_of(&self, machine: &str) -> Result<String> {
        let id = self.get("machine", machine).await?;
        let id = id.pointer("/spec/providerID").and_then(Value::as_str).context("it has no providerID")?;
        Ok(id.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// Waits until a condition of an object is True, and shows all of its conditions if it never is.
    pub async fn until_condition(&self, kind: &str, name: &str, condition: &str) -> Result<()> {
        let what = format!("{kind} {name} to be {condition}");
        let met = wait::until_true(what, LIMIT, || async {
            self.check()?;
            let found = self.get(kind, name).await?;
            let all =
                found.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
            let holds = all.iter().any(|one| one["type"] == condition && one["status"] == "True");
            Ok(if holds { Ok(()) } else { Err(format!("{:#}", Value::from(all))) })
        });
        Ok(met.await?)
    }

    /// Waits until something has so many machines, all of them as its spec wants them, and Available.
    pub async fn until_replicas(&self, kind: &str, name: &str, count: usize) -> Result<()> {
        let met = wait::until_true(format!("{kind} {name} to have {count} machines"), LIMIT, || async {
            self.check()?;
            let found = self.get(kind, name).await?;
            let current = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            let wanted = found["spec"]["replicas"] == count;
            let all = ["replicas", "upToDateReplicas", "availableReplicas"];
            let settled = current && wanted && all.iter().all(|field| found["status"][field] == count);
            Ok(if settled { Ok(()) } else { Err(format!("{:#}", found["status"])) })
        });
        Ok(met.await?)
    }

    /// An error if something has ended by itself.
    pub fn check(&self) -> Result<()> {
        self.plane.check()?;
        self.managers.check()?;
        self.manager.process().check()
    }

    /// Stops everything: all went well.
    pub async fn stop(self) -> Result<()> {
        self.manager.stop().await?;
        self.managers.stop().await?;
        self.plane.stop().await
    }
}
