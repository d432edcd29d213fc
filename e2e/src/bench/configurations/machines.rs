//! Machines that boot, each on a host of its own and with bootstrap data of its own.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use beskar7_api::{PhysicalHost, annotations, cluster_api};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::Options;
use crate::bench::claims::claim;
use crate::bench::enrolment::{enrol, until_inventories_are_read};
use crate::bench::place::Place;
use crate::bench::sightings::Sightings;
use crate::bench::timed::create_all;
use crate::bench::worker::Worker;
use crate::objects::{make_owner_machine, make_secret};

/// What cloud-init reads, in its order.
pub(super) const FILES: [&str; 3] = ["meta-data", "user-data", "vendor-data"];

/// A machine that holds a host.
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) host: String,
    pub(super) claim: String,
}

/// Makes them, and waits until each holds a host and nothing more is asked of the BMCs.
pub(super) async fn make(
    place: &Place,
    namespace: &str,
    worker: &Worker,
    options: &Options,
) -> Result<Vec<Machine>> {
    let mut sightings = Sightings::begin(&place.client, namespace).await?;
    enrol(place, namespace, worker, &mut sightings, 0).await?;
    let owners =
        create_all((0..options.machines).map(|number| owner(place, namespace, number, options.bytes)));
    let remote = json!({"spec": {
        "provisioningMode": "RemoteConfig", "osFamily": "other", "kernelArgs": ["b7.config={{configURL}}"],
    }});
    claim(place, namespace, worker, &mut sightings, &owners.await?, &remote).await?;
    until_inventories_are_read(place, namespace, options.machines).await?;
    let all = hosts(place, namespace).list(&ListParams::default()).await?;
    let machines: Vec<Machine> = all.items.iter().filter_map(of_host).collect();
    ensure!(machines.len() == options.machines, "{} machines hold a host", machines.len());
    Ok(machines)
}

/// The Machine of Cluster API, with its bootstrap data.
async fn owner(place: &Place, namespace: &str, number: usize, bytes: usize) -> Result<cluster_api::Machine> {
    let name = format!("m-{number:05}");
    let secret = format!("{name}-bootstrap");
    let data = json!({"value": bootstrap_data(&name, bytes), "format": "cloud-config"});
    make_secret(&place.client, namespace, &secret, &data).await?;
    let named = json!({"spec": {"bootstrap": {"dataSecretName": secret}}});
    make_owner_machine(&place.client, namespace, &name, &named).await
}

/// Bootstrap data of this length, of no other machine.
pub(super) fn bootstrap_data(name: &str, bytes: usize) -> String {
    let mut data = format!("#cloud-config\n# {name}\nwrite_files:\n");
    let mut number = 0_u64;
    while data.len() < bytes {
        number += 1;
        let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        data.push_str(&format!("- {{path: /etc/node/{number}, content: \"{name} {noise:016x}\"}}\n"));
    }
    data
}

fn of_host(host: &PhysicalHost) -> Option<Machine> {
    let name = host.spec.consumer_ref.as_ref()?.name.clone()?;
    Some(Machine { name, claim: host.spec.claim_id.clone()?, host: host.name_any() })
}

fn hosts(place: &Place, namespace: &str) -> Api<PhysicalHost> {
    Api::namespaced(place.client.clone(), namespace)
}

/// Writes onto each host that its machine boots since now, and was not heard of, as the manager would: from now on it may
/// read its configuration.
pub(super) async fn begin_to_boot(place: &Place, namespace: &str, machines: &[Machine]) -> Result<()> {
    let hosts = hosts(place, namespace);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock")?.as_secs();
    let written = create_all(machines.iter().map(|machine| {
        let mark = format!("{} {now} on configuration", machine.claim);
        let marks = HashMap::from([(annotations::BOOTING, Some(mark)), (annotations::HEARD, None)]);
        let patch = Patch::Merge(json!({"metadata": {"annotations": marks}}));
        let hosts = &hosts;
        async move { Ok(hosts.patch_metadata(&machine.host, &PatchParams::default(), &patch).await?) }
    }));
    written.await.context("writing that machines boot")?;
    Ok(())
}
