//! The order of the contract: what must be there before a machine may look for a host.

use beskar7_api::{Beskar7Cluster, Beskar7Machine, annotations, cluster_api, conditions::machine as reasons};

use super::boot::order;
use crate::{
    claim::{Mark, Obstacle},
    delivery::Delivery,
};

/// The Machine that owns a Beskar7Machine.
#[derive(Debug, Clone, Copy)]
pub enum Owner<'a> {
    /// No owner reference names one yet.
    Unset,
    /// One is named, and is not there.
    Gone(&'a str),
    /// This one.
    There(&'a cluster_api::Machine),
}

/// What a Beskar7Machine stands among.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The Machine that owns it.
    pub owner: Owner<'a>,
    /// The Cluster of that Machine.
    pub cluster: Option<&'a cluster_api::Cluster>,
    /// Our side of that Cluster.
    pub infrastructure: Option<&'a Beskar7Cluster>,
}

impl<'a> Surroundings<'a> {
    /// The Machine, where it is there.
    #[must_use]
    pub fn machine(&self) -> Option<&'a cluster_api::Machine> {
        match self.owner {
            Owner::There(machine) => Some(machine),
            Owner::Unset | Owner::Gone(_) => None,
        }
    }
}

/// What says that a machine is to be left as it is, if something does: it is moved away, or paused, by itself or with its
/// Cluster.
#[must_use]
pub fn on_hold(machine: &Beskar7Machine, cluster: Option<&cluster_api::Cluster>) -> Option<Mark> {
    let annotated =
        |name: &str| machine.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(name));
    if annotated(annotations::DELETE_FOR_MOVE) {
        return Some(Mark::Moved);
    }
    let why = match cluster {
        Some(cluster) if cluster.spec.paused == Some(true) => "Cluster.spec.paused is true".to_owned(),
        Some(_) | None if annotated(annotations::PAUSED) => {
            format!("The annotation {} is set", annotations::PAUSED)
        }
        Some(_) | None => return None,
    };
    Some(Mark::Paused(why))
}

/// What stands in the way of looking for a host, in the order of the contract; nothing, when it may.
#[must_use]
pub fn obstacle(machine: &Beskar7Machine, around: &Surroundings<'_>, delivery: Delivery) -> Option<Obstacle> {
    let owner = match around.owner {
        Owner::There(owner) => owner,
        Owner::Unset => {
            let told = "No Machine owns this Beskar7Machine yet. Cluster API sets the owner reference; one that was \
                        made by hand needs a Machine whose infrastructureRef names it";
            return Some(Obstacle::watched(reasons::WAITING_FOR_OWNER_MACHINE, told));
        }
        Owner::Gone(name) => {
            let told = format!("The Machine {name} that owns this Beskar7Machine does not exist");
            return Some(Obstacle::watched(reasons::WAITING_FOR_OWNER_MACHINE, told));
        }
    };
    let name = &owner.spec.cluster_name;
    let Some(cluster) = around.cluster else {
        let told = format!("The Cluster {name} does not exist");
        return Some(Obstacle::watched(reasons::WAITING_FOR_CLUSTER_INFRASTRUCTURE, told));
    };
    if !infrastructure_provisioned(cluster) {
        let told = format!("The infrastructure of Cluster {name} is not ready: its Beskar7Cluster says why");
        return Some(Obstacle::watched(reasons::WAITING_FOR_CLUSTER_INFRASTRUCTURE, told));
    }
    if owner.spec.bootstrap.data_secret_name.is_none() {
        let told = "The Machine's bootstrap data is not made yet: its bootstrap configuration says why";
        return Some(Obstacle::watched(reasons::WAITING_FOR_BOOTSTRAP_DATA, told));
    }
    let unusable = order(&machine.spec, delivery).err()?;
    Some(Obstacle::watched(reasons::SPEC_NOT_USABLE, unusable))
}

fn infrastructure_provisioned(cluster: &cluster_api::Cluster) -> bool {
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.infrastructure_provisioned == Some(true))
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
