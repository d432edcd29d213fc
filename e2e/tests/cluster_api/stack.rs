//! Cluster API, our manager and simulated machines that become nodes, on one local control plane.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_api::cluster_api;
use beskar7_e2e::cluster_api::{ClusterApi, Infrastructure, Managers};
use beskar7_e2e::control_plane::{ControlPlane, Options};
use beskar7_e2e::manager::{self, Manager};
use beskar7_e2e::ports::Port;
use beskar7_e2e::racks::Racks;
use beskar7_e2e::sample::SampleCluster;
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait;
use beskar7_e2e::workload::Workload;
use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::profiles;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::images;

/// Where hosts and clusters are.
pub const NAMESPACE: &str = "metal";

/// What a step may take that waits for Cluster API, some of whose controllers look every 30 s only.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Everything that runs. The fields end in this order.
pub struct Stack {
    pub manager: Manager,
    pub racks: Racks,
    pub workload: Workload,
    pub managers: Managers,
    pub cluster_api: ClusterApi,
    pub plane: ControlPlane,
    pub client: Client,
    endpoint: Port,
    images: String,
}

impl Stack {
    /// With so many hosts, of every make in turn, each of them Available. BMCs are at addresses from `first` on.
    pub async fn start(hosts: usize, first: Ipv4Addr) -> Result<Self> {
        let plane = ControlPlane::start(&Tools::ready().await?, Options::default()).await?;
        let cluster_api = ClusterApi::prepare(&plane, Infrastructure::default()).await?;
        cluster_api.init().await?.success()?;
        let managers = cluster_api.start_managers(&plane).await?;
        let flags = ["--bmc-poll-interval=2s", "--boot-timeout=1m", "-v=4"].map(str::to_owned).into();
        let options = manager::Options { leader_elect: false, flags, ..manager::Options::default() };
        let manager = Manager::start(&plane, &options).await?;
        let workload = Workload::new(&plane).await?;
        let fleet = FleetConfig {
            count: hosts,
            profiles: profiles::ALL.to_vec(),
            first,
            pace: 0.02,
            os: Some(workload.os()),
            ..FleetConfig::default()
        };
        let racks = Racks::start(&plane, NAMESPACE, fleet).await?;
        racks.available(&plane).await?;
        let client = plane.client().await?;
        let images = images::serve().await?;
        let endpoint = Port::reserve()?;
        Ok(Self { manager, racks, workload, managers, cluster_api, plane, client, endpoint, images })
    }

    /// A cluster by the default template of the release, but for what machines without kubelets can't do: its etcd is
    /// external, and its ISOs need no configuration.
    pub async fn apply_cluster(&self, name: &str, control_plane: u32, workers: u32) -> Result<()> {
        self.apply_sample(name, control_plane, workers, Some(self.endpoint.number())).await
    }

    /// The same without an endpoint.
    pub async fn apply_cluster_without_endpoint(&self, name: &str, control_plane: u32) -> Result<()> {
        self.apply_sample(name, control_plane, 0, None).await
    }

    async fn apply_sample(
        &self,
        name: &str,
        control_plane: u32,
        workers: u32,
        port: Option<u16>,
    ) -> Result<()> {
        let image = self.image("node.iso");
        let sample = SampleCluster {
            name,
            namespace: NAMESPACE,
            control_plane,
            workers,
            port,
            image: &image,
            // Servers to spare for a rollout, and a health check that does not wait for memory training.
            variables: &[
                ("BESKAR7_WORKER_MAX_SURGE", "3"),
                ("BESKAR7_WORKER_MAX_UNAVAILABLE", "0"),
                ("BESKAR7_NODE_UNHEALTHY_TIMEOUT_SECONDS", "10"),
            ],
        };
        sample.apply(&self.plane, &self.cluster_api, &self.workload).await
    }

    /// Where an image of this name is.
    pub fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.images)
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

    /// An object of any kind.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Value> {
        let found =
            self.plane.kubectl(&["-n", NAMESPACE, "get", kind, name, "-o", "json"]).await?.success()?;
        serde_json::from_str(&found).with_context(|| format!("reading {kind} {name}"))
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
            self.check().await?;
            let found = self.get(kind, name).await?;
            let all =
                found.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
            let holds = all.iter().any(|one| one["type"] == condition && one["status"] == "True");
            Ok(if holds { Ok(()) } else { Err(format!("{:#}", Value::from(all))) })
        });
        Ok(met.await?)
    }

    /// An error if something has ended by itself.
    pub async fn check(&self) -> Result<()> {
        self.plane.check()?;
        self.managers.check()?;
        self.manager.process().check()?;
        self.workload.check().await
    }

    /// Stops everything: all went well.
    pub async fn stop(self) -> Result<()> {
        self.manager.stop().await?;
        drop(self.racks);
        self.workload.stop().await?;
        self.managers.stop().await?;
        self.plane.stop().await
    }
}
