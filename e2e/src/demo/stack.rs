//! Everything that the demo runs, from the bottom to the top.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::ListParams;

use super::Options;
use super::desk::Desk;
use super::screen::{Row, Screen};
use super::servers;
use crate::cluster_api::{ClusterApi, Managers};
use crate::control_plane::{self, ControlPlane};
use crate::images;
use crate::manager::{self, Manager};
use crate::ports::Port;
use crate::probe;
use crate::racks::Racks;
use crate::sample::{Configuration, SampleCluster};
use crate::tools::{Tool, Tools};
use crate::wait;
use crate::workload::Workload;

/// The label that Cluster API gives to everything of a provider.
const OURS: &str = "cluster.x-k8s.io/provider=infrastructure-beskar7";

const LEAD_LIMIT: Duration = Duration::from_secs(60);

/// The running demo. The fields end in this order: from the top to the bottom.
pub(super) struct Stack {
    manager: Manager,
    racks: Racks,
    workload: Workload,
    managers: Managers,
    cluster_api: ClusterApi,
    plane: ControlPlane,
    release: String,
    /// Where the API server of the workload cluster will be.
    endpoint: Port,
    /// Where its ISO is.
    images: String,
}

impl Stack {
    pub(super) async fn start(
        options: &Options,
        desk: &Desk,
        tools: &Tools,
        screen: &Screen,
    ) -> Result<Self> {
        screen.step("control plane: etcd, kube-apiserver, kube-controller-manager");
        let place =
            control_plane::Options { directory: Some(desk.state()), ..control_plane::Options::default() };
        let plane = ControlPlane::start(tools, place).await?;

        let infrastructure = options.infrastructure();
        screen.step(&format!("clusterctl init --infrastructure beskar7:{}", infrastructure.version));
        let cluster_api = ClusterApi::prepare(&plane, infrastructure).await?;
        cluster_api.init().await?.success()?;
        desk.lay_out(tools, &plane.kubeconfig(), cluster_api.config())?;

        screen.step("Cluster API: core, kubeadm bootstrap, kubeadm control plane");
        let managers = cluster_api.start_managers(&plane).await?;

        screen.step("Beskar7: the manager, under the role of its release");
        let manager = Manager::start(&plane, &options.manager()).await?;
        screen.step("servers: simulated BMCs of every make, enrolled as PhysicalHosts");
        let workload = Workload::new(&plane).await?;
        let racks = Racks::start(&plane, servers::NAMESPACE, servers::fleet(workload.os())).await?;
        let stack = Self {
            manager,
            racks,
            workload,
            managers,
            cluster_api,
            plane,
            release: options.release.clone(),
            endpoint: Port::reserve()?,
            images: images::serve().await?,
        };
        stack.leads().await?;
        stack.established().await?;
        stack.enrolled().await?;
        screen.step("everything is up");
        Ok(stack)
    }

    /// Waits until the manager holds its lease.
    async fn leads(&self) -> Result<()> {
        let leases = Api::<Lease>::namespaced(self.plane.client().await?, manager::NAMESPACE);
        let leases = &leases;
        let led = wait::until_true("the manager to hold its lease", LEAD_LIMIT, || async move {
            let all = leases.list(&ListParams::default()).await?;
            let holder = |lease: &Lease| lease.spec.as_ref()?.holder_identity.clone();
            let held = all.items.iter().filter_map(holder).any(|holder| !holder.is_empty());
            Ok(if held { Ok(()) } else { Err(format!("{} leases, none held", all.items.len())) })
        });
        led.await.map_err(|unmet| self.manager.process().failure(&unmet.to_string()))
    }

    /// Waits until the API server serves our kinds.
    async fn established(&self) -> Result<()> {
        let arguments = ["wait", "crd", "--for=condition=Established", "--timeout=60s", "-l", OURS];
        let said = self.plane.kubectl(&arguments).await?.success()?;
        ensure!(!said.trim().is_empty(), "the release installed no kinds");
        Ok(())
    }

    /// Waits until every host is enrolled.
    async fn enrolled(&self) -> Result<()> {
        let enrolled = self.racks.available(&self.plane).await;
        enrolled.map_err(|unmet| self.manager.process().failure(&unmet.to_string()))
    }

    /// Applies the cluster of the demo.
    pub(super) async fn apply_cluster(&self, name: &str, control_plane: u32, workers: u32) -> Result<()> {
        let image = self.image();
        let sample = SampleCluster {
            name,
            namespace: servers::NAMESPACE,
            control_plane,
            workers,
            port: Some(self.endpoint.number()),
            image: &image,
            configuration: Configuration::Delivered,
            flavor: "",
            variables: &[],
        };
        sample.apply(&self.plane, &self.cluster_api, &self.workload).await
    }

    /// What kubectl says, in the namespace of the servers.
    pub(super) async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_in(servers::NAMESPACE, arguments).await
    }

    /// What kubectl says, in a namespace.
    pub(super) async fn kubectl_in(&self, namespace: &str, arguments: &[&str]) -> Result<String> {
        let all: Vec<&str> = ["-n", namespace].iter().chain(arguments).copied().collect();
        self.plane.kubectl(&all).await?.success()
    }

    /// Applies manifests.
    pub(super) async fn apply(&self, manifests: &str) -> Result<()> {
        self.plane.kubectl_with_input(&["apply", "-f", "-"], manifests).await?.success()?;
        Ok(())
    }

    /// The ISO that machines of the demo boot from.
    pub(super) fn image(&self) -> String {
        format!("{}/node.iso", self.images)
    }

    /// The cluster as clusterctl describes it.
    pub(super) async fn describe(&self, cluster: &str) -> Result<String> {
        let arguments = ["describe", "cluster", cluster, "-n", servers::NAMESPACE, "--color=false"];
        self.cluster_api.clusterctl_with(&arguments, &[]).await?.success()
    }

    /// The hosts as kubectl lists them.
    pub(super) async fn hosts(&self) -> Result<String> {
        self.kubectl(&["get", "physicalhosts"]).await
    }

    /// What runs where, each asked at this moment.
    pub(super) async fn table(&self) -> Result<Vec<Row>> {
        self.check()?;
        let plain = probe::client(None)?;
        let mut rows = Vec::new();
        for (name, address, ready) in self.plane.readiness().await? {
            let tool =
                Tool::ALL.iter().find(|tool| tool.file_name() == name).context("an unknown process")?;
            rows.push(row(name, self.plane.tools().version(*tool)?, &address, &ready));
        }
        for (name, address) in self.managers.addresses() {
            let ready = probe::readiness(&plain, &format!("http://{address}/readyz")).await;
            rows.push(row(name, Tool::ClusterApi.version()?, address, &ready));
        }
        let address = self.manager.health_address();
        let ready = probe::readiness(&plain, &format!("http://{address}/readyz")).await;
        rows.push(row(self.manager.process().name(), &self.release, &address, &ready));
        ensure!(rows.iter().all(|row| row.ready == "yes"), "not everything is ready: {rows:#?}");
        Ok(rows)
    }

    /// Our kinds as kubectl lists them.
    pub(super) async fn kinds(&self) -> Result<String> {
        let group = "--api-group=infrastructure.cluster.x-k8s.io";
        self.plane.kubectl(&["api-resources", group]).await?.success()
    }

    /// An error if something has ended by itself.
    pub(super) fn check(&self) -> Result<()> {
        self.plane.check()?;
        self.managers.check()?;
        self.manager.process().check()
    }

    /// A client as the administrator.
    pub(super) async fn client(&self) -> Result<kube::Client> {
        self.plane.client().await
    }

    /// Stops everything, from the top to the bottom.
    pub(super) async fn stop(self) -> Result<()> {
        self.manager.stop().await?;
        drop(self.racks);
        self.workload.stop().await?;
        self.managers.stop().await?;
        drop(self.cluster_api);
        self.plane.stop().await
    }
}

fn row(name: &str, version: &str, address: &str, ready: &str) -> Row {
    let [name, version, address, ready] = [name, version, address, ready].map(str::to_owned);
    Row { name, version, address, ready }
}
