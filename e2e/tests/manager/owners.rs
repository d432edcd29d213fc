//! Cluster API's side of machines and clusters, written by hand where no Cluster API runs.

use anyhow::{Context, Result};
use beskar7_api::{Beskar7Machine, cluster_api};
use beskar7_e2e::objects;
pub use beskar7_e2e::objects::CLUSTER;
use beskar7_e2e::wait::{self, Seen};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;

use super::setup::{HOSTS, LIMIT};

pub fn machines(client: &Client) -> Api<Beskar7Machine> {
    Api::namespaced(client.clone(), HOSTS)
}

pub fn owner_machines(client: &Client) -> Api<cluster_api::Machine> {
    Api::namespaced(client.clone(), HOSTS)
}

pub fn owner_clusters(client: &Client) -> Api<cluster_api::Cluster> {
    Api::namespaced(client.clone(), HOSTS)
}

pub async fn patch_cluster(client: &Client, patch: &Value) -> Result<()> {
    owner_clusters(client).patch(CLUSTER, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// A Cluster whose infrastructure is ready, and the bootstrap data that its Machines share.
pub async fn make_cluster(client: &Client) -> Result<()> {
    objects::make_cluster(client, HOSTS).await
}

/// A Machine and its Beskar7Machine, which boots `image`; `owner` and `more` change them.
pub async fn make_machine(
    client: &Client,
    name: &str,
    image: &str,
    owner: &Value,
    more: &Value,
) -> Result<()> {
    let machine = objects::make_owner_machine(client, HOSTS, name, owner).await?;
    objects::make_machine(client, HOSTS, &machine, image, more).await
}

pub async fn delete_machine(client: &Client, name: &str) -> Result<()> {
    machines(client).delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// Waits until a machine is as it should be.
pub async fn until_machine(
    client: &Client,
    name: &str,
    what: &str,
    so: impl Fn(&Beskar7Machine) -> bool,
) -> Result<Beskar7Machine> {
    until_machine_of(&machines(client), name, what, so).await
}

/// The same in another namespace.
pub async fn until_machine_of(
    machines: &Api<Beskar7Machine>,
    name: &str,
    what: &str,
    so: impl Fn(&Beskar7Machine) -> bool,
) -> Result<Beskar7Machine> {
    let found = wait::until(format!("{name} to be {what}"), LIMIT * 2, || async {
        let machine = machines.get(name).await?;
        Ok(if so(&machine) {
            Seen::Done(machine)
        } else {
            Seen::NotYet(format!("{:?} {:?}", machine.metadata.annotations, machine.status))
        })
    });
    Ok(found.await?)
}

/// Waits until a machine's phase is this one.
pub async fn until_phase(client: &Client, name: &str, phase: &str) -> Result<Beskar7Machine> {
    until_machine(client, name, phase, |machine| phase_of(machine) == phase).await
}

pub fn phase_of(machine: &Beskar7Machine) -> String {
    let phase = machine.status.as_ref().and_then(|status| status.phase);
    phase.map_or_else(String::new, |phase| format!("{phase:?}"))
}

/// The reason and the message of a condition.
pub fn told(machine: &Beskar7Machine, type_: &str) -> Option<(String, String, String)> {
    let conditions = &machine.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}

/// Waits until a machine says this reason for not being ready, and returns the message.
pub async fn until_waiting(client: &Client, name: &str, reason: &str) -> Result<String> {
    let says =
        |machine: &Beskar7Machine| told(machine, "InfrastructureReady").is_some_and(|told| told.1 == reason);
    let machine = until_machine(client, name, reason, says).await?;
    Ok(told(&machine, "InfrastructureReady").context("just seen")?.2)
}

/// Waits until a machine is gone.
pub async fn until_gone(client: &Client, name: &str) -> Result<()> {
    until_gone_of(&machines(client), name).await
}

/// The same in another namespace.
pub async fn until_gone_of(machines: &Api<Beskar7Machine>, name: &str) -> Result<()> {
    wait::until_true(format!("{name} to be gone"), LIMIT * 2, || async {
        Ok(match machines.get_opt(name).await? {
            None => Ok(()),
            Some(machine) => Err(format!("{:?}", machine.status)),
        })
    })
    .await?;
    Ok(())
}
