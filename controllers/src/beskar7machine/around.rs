//! What a Beskar7Machine stands among, from the caches.

use std::sync::Arc;

use beskar7_api::{Beskar7Cluster, Beskar7Machine, GROUP, cluster_api};
use beskar7_core::machine::{Owner, Surroundings};

use crate::caches::Caches;

/// What a Beskar7Machine stands among.
pub(crate) struct Around {
    named: Option<String>,
    machine: Option<Arc<cluster_api::Machine>>,
    cluster: Option<Arc<cluster_api::Cluster>>,
    infrastructure: Option<Arc<Beskar7Cluster>>,
}

impl Around {
    /// Looks it up.
    pub(crate) fn of(machine: &Beskar7Machine, caches: &Caches) -> Self {
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        let key = |name: &str| (namespace.clone(), name.to_owned());
        let named = owner(machine);
        let owner = named.as_deref().and_then(|name| caches.owner_machines.get(&key(name)));
        let cluster =
            owner.as_ref().and_then(|owner| caches.owner_clusters.get(&key(&owner.spec.cluster_name)));
        let infrastructure = cluster.as_ref().and_then(|cluster| {
            let reference = cluster.spec.infrastructure_ref.as_ref()?;
            let ours = reference.kind == "Beskar7Cluster" && reference.api_group == GROUP;
            ours.then(|| caches.clusters.get(&key(&reference.name))).flatten()
        });
        Self { named, machine: owner, cluster, infrastructure }
    }

    pub(crate) fn cluster(&self) -> Option<&cluster_api::Cluster> {
        self.cluster.as_deref()
    }

    /// As decisions look at it.
    pub(crate) fn view(&self) -> Surroundings<'_> {
        Surroundings {
            owner: match (&self.machine, &self.named) {
                (Some(machine), _) => Owner::There(machine),
                (None, Some(name)) => Owner::Gone(name),
                (None, None) => Owner::Unset,
            },
            cluster: self.cluster.as_deref(),
            infrastructure: self.infrastructure.as_deref(),
        }
    }

    /// Whether the Machine and its Cluster are known: only then is anything but a release begun.
    pub(crate) fn is_known(&self) -> bool {
        self.machine.is_some() && self.cluster.is_some()
    }
}

/// The Machine that an owner reference names.
fn owner(machine: &Beskar7Machine) -> Option<String> {
    let owners = machine.metadata.owner_references.as_ref()?;
    let ours = |group: &str| group.split_once('/').is_some_and(|(group, _)| group == cluster_api::GROUP);
    owners
        .iter()
        .find(|owner| owner.kind == "Machine" && ours(&owner.api_version))
        .map(|owner| owner.name.clone())
}
