//! A management cluster, and simulated machines that become nodes.

use std::net::Ipv4Addr;
use std::ops::Deref;
use std::time::Duration;

use anyhow::Result;
use beskar7_e2e::ports::Port;
use beskar7_e2e::racks::Racks;
use beskar7_e2e::sample::{Configuration, SampleCluster};
use beskar7_e2e::workload::{Kubelets, Workload};
use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::profiles;

use super::images;
use super::management::Management;

/// Where hosts and clusters are.
pub const NAMESPACE: &str = "metal";

/// What a step may take that waits for Cluster API, some of whose controllers look every 30 s only.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Everything that runs. The fields end in this order.
pub struct Stack {
    pub racks: Racks,
    pub workload: Workload,
    pub management: Management,
    endpoint: Port,
    images: String,
    /// How its machines get their configuration.
    configuration: Configuration,
}

/// What is asked of a stack is mostly asked of its management cluster.
impl Deref for Stack {
    type Target = Management;

    fn deref(&self) -> &Management {
        &self.management
    }
}

impl Stack {
    /// With so many hosts, of every make in turn, each of them Available. BMCs are at addresses from `first` on.
    pub async fn start(hosts: usize, first: Ipv4Addr) -> Result<Self> {
        Self::start_with(hosts, first, Kubelets::default()).await
    }

    /// The same, with such kubelets.
    pub async fn start_with(hosts: usize, first: Ipv4Addr, kubelets: Kubelets) -> Result<Self> {
        let management = Management::start().await?;
        let workload = Workload::with(&management.plane, kubelets).await?;
        // What nobody tells its identity reads nothing that could.
        let configuration = match kubelets {
            Kubelets::Told => Configuration::Delivered,
            Kubelets::Untold => Configuration::InImage,
        };
        let fleet = FleetConfig {
            count: hosts,
            profiles: profiles::ALL.to_vec(),
            first,
            pace: 0.02,
            os: Some(workload.os()),
            ..FleetConfig::default()
        };
        let racks = Racks::start(&management.plane, NAMESPACE, fleet).await?;
        racks.available(&management.plane).await?;
        let images = images::serve().await?;
        let endpoint = Port::reserve()?;
        Ok(Self { racks, workload, management, endpoint, images, configuration })
    }

    /// A cluster by the default template of the release, but for what machines without kubelets can't do: its etcd is
    /// external. Its machines read their bootstrap data from our boot server, unless their kubelets are told nothing.
    pub async fn apply_cluster(&self, name: &str, control_plane: u32, workers: u32) -> Result<()> {
        self.apply_sample(name, "", control_plane, workers, Some(self.endpoint.number())).await
    }

    /// The same by the ClusterClass of the release; its ISOs need no configuration.
    pub async fn apply_topology(&self, name: &str, control_plane: u32, workers: u32) -> Result<()> {
        self.apply_sample(name, "topology", control_plane, workers, Some(self.endpoint.number())).await
    }

    /// The same without an endpoint; its ISOs need no configuration.
    pub async fn apply_cluster_without_endpoint(&self, name: &str, control_plane: u32) -> Result<()> {
        self.apply_sample(name, "", control_plane, 0, None).await
    }

    async fn apply_sample(
        &self,
        name: &str,
        flavor: &str,
        control_plane: u32,
        workers: u32,
        port: Option<u16>,
    ) -> Result<()> {
        let image = self.image("node.iso");
        let configuration = match (flavor, port) {
            ("", Some(_)) => self.configuration,
            (_, Some(_) | None) => Configuration::InImage,
        };
        let sample = SampleCluster {
            name,
            namespace: NAMESPACE,
            control_plane,
            workers,
            port,
            image: &image,
            configuration,
            flavor,
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

    /// An error if something has ended by itself.
    pub async fn check(&self) -> Result<()> {
        self.management.check()?;
        self.workload.check().await
    }

    /// Stops everything: all went well.
    pub async fn stop(self) -> Result<()> {
        drop(self.racks);
        self.workload.stop().await?;
        self.management.stop().await
    }
}
