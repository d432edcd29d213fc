//! Reads what a decision about a cluster needs: from the caches what is watched, from the API server what is not.

use std::{collections::BTreeSet, sync::Arc};

use beskar7_api::{
    Beskar7Cluster, PhysicalHost,
    cluster_api::{self, Machine},
};
use beskar7_core::cluster::{
    ControlPlane, Observed, Owner, Unread, asks_for_control_plane, owner_name, reservation,
};
use kube::{Api, Client, ResourceExt as _, api::ListParams, core::DeserializeGuard};

use super::{ReconcileError, control_plane::ControlPlanes};
use crate::{caches::Caches, watch::key};

/// Of a list.
const PAGE: u32 = 500;

/// What was seen, to decide on.
pub(super) struct Seen {
    owner: Option<Arc<cluster_api::Cluster>>,
    control_plane: ControlPlane,
    machines: Vec<Arc<Machine>>,
    open: BTreeSet<String>,
    hosts: Vec<Arc<PhysicalHost>>,
}

impl Seen {
    /// As a decision takes it.
    pub(super) fn observed<'a>(&'a self, cluster: &'a Beskar7Cluster) -> Observed<'a> {
        Observed {
            owner: owner(cluster, self.owner.as_deref()),
            control_plane: self.control_plane.clone(),
            machines: self.machines.iter().map(AsRef::as_ref).collect(),
            open: self.open.clone(),
            hosts: self.hosts.iter().map(AsRef::as_ref).collect(),
        }
    }
}

/// Looks at everything that a cluster depends on. `written` are hosts as they are since our last writes: the caches may
/// not show them yet.
pub(super) async fn observe(
    client: &Client,
    caches: &Caches,
    control_planes: &ControlPlanes,
    cluster: &Beskar7Cluster,
    written: &[Arc<PhysicalHost>],
) -> Result<Seen, ReconcileError> {
    let namespace = cluster.namespace().unwrap_or_default();
    let owner_ = owner_name(cluster).map(|name| (namespace.clone(), name.to_owned()));
    let owner_ = owner_.and_then(|key| caches.owner_clusters.get(&key));
    let machines: Vec<Arc<Machine>> = caches
        .owner_machines
        .all()
        .into_iter()
        .filter(|machine| machine.metadata.namespace.as_deref() == Some(&namespace))
        .collect();
    let hosts = match cluster.metadata.deletion_timestamp {
        // What the cache does not show yet would stay kept for a cluster that is gone.
        Some(_) => {
            let mut hosts = Vec::new();
            for namespace in namespaces(cluster) {
                let some = listed(client, namespace).await;
                hosts.extend(some.map_err(|error| ReconcileError::Hosts(Box::new(error)))?);
            }
            hosts
        }
        None => cached(caches, cluster, written),
    };
    let refs: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
    let asked = asks_for_control_plane(cluster, owner(cluster, owner_.as_deref()), &refs);
    let control_plane = match asked {
        Some(named) => control_planes.read(&namespace, named).await,
        None => ControlPlane::Unread(Unread::NotAsked),
    };
    let pool = cluster.spec.host_pool.as_ref().and_then(|pool| pool.namespace.as_deref());
    let open = caches.tenancy.opened(pool, &namespace);
    Ok(Seen { owner: owner_, control_plane, machines, open, hosts })
}

fn owner<'a>(cluster: &'a Beskar7Cluster, found: Option<&'a cluster_api::Cluster>) -> Owner<'a> {
    match (owner_name(cluster), found) {
        (None, _) => Owner::NotNamed,
        (Some(name), None) => Owner::Absent(name),
        (Some(_), Some(found)) => Owner::Found(found),
    }
}

fn cached(
    caches: &Caches,
    cluster: &Beskar7Cluster,
    written: &[Arc<PhysicalHost>],
) -> Vec<Arc<PhysicalHost>> {
    let (mine, namespaces) = (reservation(cluster), namespaces(cluster));
    let ours = |host: &Arc<PhysicalHost>| {
        host.metadata.namespace.as_deref().is_some_and(|there| namespaces.contains(there))
            || host.spec.reserved_for.as_ref() == Some(&mine)
    };
    let newer = |host: Arc<PhysicalHost>| {
        let written = written.iter().rev().find(|written| key(written.as_ref()) == key(host.as_ref()));
        written.cloned().unwrap_or(host)
    };
    caches.hosts.all().into_iter().filter(ours).map(newer).collect()
}

/// Where the hosts of a cluster may be.
fn namespaces(cluster: &Beskar7Cluster) -> BTreeSet<&str> {
    let pool = cluster.spec.host_pool.as_ref().and_then(|pool| pool.namespace.as_deref());
    cluster.metadata.namespace.as_deref().into_iter().chain(pool).collect()
}

/// The hosts of a namespace, from the API server. One that can't be read is left out, as everywhere.
async fn listed(client: &Client, namespace: &str) -> Result<Vec<Arc<PhysicalHost>>, kube::Error> {
    let api: Api<DeserializeGuard<PhysicalHost>> = Api::namespaced(client.clone(), namespace);
    let (mut hosts, mut page) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let list = api.list(&page).await?;
        hosts.extend(list.items.into_iter().filter_map(|host| host.0.ok()).map(Arc::new));
        match list.metadata.continue_.filter(|more| !more.is_empty()) {
            Some(more) => page = page.continue_token(&more),
            None => return Ok(hosts),
        }
    }
}
