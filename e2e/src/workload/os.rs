//! What runs on a simulated machine: it installs itself, joins its cluster, and is lost to it when power goes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use beskar7_redfish::MachineUuid;
use beskar7_redfish_sim::machine::boot::BootSource;
use beskar7_redfish_sim::os::{Booted, BootedOs, OsFuture};
use tokio::runtime::Handle;

use super::cloud_init;
use super::cluster::{Boot, WorkloadCluster};
use super::installer::Installer;
use super::node::Hardware;
use super::{Clusters, Kubelets};

/// How soon a machine that could not join tries again, as its service manager would.
const RETRY: Duration = Duration::from_secs(1);

/// The operating system of every machine of a fleet.
pub(super) struct NodeOs {
    pub(super) clusters: Weak<Clusters>,
}

impl BootedOs for NodeOs {
    fn booted(&self, what: Booted) -> OsFuture {
        let clusters = self.clusters.clone();
        Box::pin(async move {
            let Some(image) = Image::of(&what.source) else { return };
            let boot = Boot::default();
            loop {
                let Some(clusters) = clusters.upgrade() else { return };
                match join(&clusters, &what, &image, &boot).await {
                    Ok(Some(joined)) => {
                        drop(clusters);
                        let _until_power_goes = joined;
                        return std::future::pending().await;
                    }
                    Ok(None) => return,
                    Err(error) => clusters.note(&format!("{}: {error:#}", what.address)),
                }
                drop(clusters);
                tokio::time::sleep(RETRY).await;
            }
        })
    }
}

/// What a machine was started from, if a node can come of it.
enum Image {
    /// From outside: it installs itself for whoever holds the host now.
    New(String),
    /// From the disk, where it was installed for one claim.
    Installed(String),
}

impl Image {
    fn of(source: &BootSource) -> Option<Self> {
        match source {
            BootSource::Media { image: url, .. }
            | BootSource::MediaFile { image: url, .. }
            | BootSource::Http { uri: url } => Some(Self::New(url.clone())),
            BootSource::Disk { installed } => Some(Self::Installed(installed.clone())),
            BootSource::DevicePath { .. } | BootSource::Network | BootSource::Setup => None,
        }
    }

    /// What is on the disk once this image is installed there for a claim.
    fn on_disk(&self, claim: &str) -> String {
        match self {
            Self::New(url) => format!("{url} for {claim}"),
            Self::Installed(what) => what.clone(),
        }
    }

    fn is_for(&self, claim: &str) -> bool {
        match self {
            Self::New(_) => true,
            Self::Installed(what) => what.ends_with(&format!(" for {claim}")),
        }
    }
}

/// A node that has joined. Dropping it is what becomes of a node when its machine loses power.
struct Joined {
    clusters: Weak<Clusters>,
    cluster: Arc<WorkloadCluster>,
    node: String,
    boot: Boot,
}

/// Joins the cluster of whoever holds the host; nothing if nobody does, or if what has booted was installed for another
/// claim.
async fn join(clusters: &Arc<Clusters>, what: &Booted, image: &Image, boot: &Boot) -> Result<Option<Joined>> {
    let installer = match image {
        Image::New(url) => Some(Installer::read(url).await?),
        Image::Installed(_) => None,
    };
    if let Some(seed) = installer.as_ref().and_then(Installer::seed) {
        cloud_init::set_up(seed).await?;
        clusters.note(&format!("{}: set up as its tenant says, and called home", what.address));
        return Ok(None);
    }
    let Some(mut claimant) = clusters.management.claimant(what.address).await? else {
        clusters.note_stray(format!("{}: booted for nobody", what.address));
        return Ok(None);
    };
    if !image.is_for(&claimant.claim) {
        clusters.note_stray(format!("{}: booted what another claim has installed", what.address));
        return Ok(None);
    }
    if let Some(installer) = installer
        && let Some(configuration) = &installer.configuration
    {
        ensure!(configuration.contains("kubeadm"), "its configuration is not what kubeadm needs");
        ensure!(configuration.contains(&claimant.machine), "its configuration is not that of its Machine");
        claimant.provider_id = installer.provider_id();
        let told = installer.parameters.len();
        clusters.note(&format!("{}: read its configuration, {told} kernel parameters", what.address));
    }
    what.machine.install(Some(image.on_disk(&claimant.claim)));
    let cluster = clusters.cluster_of(&claimant).await?;
    let mut hardware = Hardware { address: what.address, uuid: what.uuid.clone() };
    if clusters.kubelets == Kubelets::Untold {
        claimant.provider_id = None;
        if !u32::from(what.address).is_multiple_of(2) {
            hardware.uuid = swapped(&what.uuid)?;
        }
    }
    let joined = Joined {
        clusters: Arc::downgrade(clusters),
        cluster: cluster.clone(),
        node: claimant.machine.clone(),
        boot: boot.clone(),
    };
    let done = format!("{}: joined {} as {}", what.address, claimant.cluster, claimant.machine);
    // A task of its own: a request that power cuts off half-way could arrive after the news that power is gone.
    let boot = boot.clone();
    tokio::spawn(async move { cluster.join(&claimant, &hardware, &boot).await }).await??;
    clusters.note(&done);
    Ok(Some(joined))
}

/// A UUID in the other byte order.
fn swapped(uuid: &str) -> Result<String> {
    let read = MachineUuid::parse(uuid).with_context(|| format!("the UUID {uuid}"))?;
    Ok(read.swapped().to_string())
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.boot.ends();
        let Ok(runtime) = Handle::try_current() else { return };
        let (clusters, cluster, boot) = (self.clusters.clone(), self.cluster.clone(), self.boot.clone());
        let node = std::mem::take(&mut self.node);
        runtime.spawn(async move {
            let lost = cluster.lose(&node, &boot).await;
            let Some(clusters) = clusters.upgrade() else { return };
            clusters.note(&match lost {
                Ok(()) => format!("{}: {node} is down", cluster.name()),
                Err(error) => {
                    format!("{}: {node} is down, and its Node can't say so: {error:#}", cluster.name())
                }
            });
        });
    }
}
