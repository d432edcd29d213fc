//! `clusterctl move` of a running cluster and of every host beside it, to another management cluster and back. Nothing
//! may happen to a machine: no BMC is told anything but to say how it is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beskar7_api::{HardwareData, HostState, PhysicalHost, annotations};
use beskar7_e2e::wait;
use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::machine::log::Action;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::hosts::until_held;
use super::life::goes_without_a_trace;
use super::management::Management;
use super::nodes::until_ready;
use super::stack::{LIMIT, NAMESPACE, Stack};

const CLUSTER: &str = "nomad";
const CONTROL_PLANE: &str = "nomad-control-plane";
const WORKERS: &str = "nomad-md-0";
/// One for the control plane, two for workers, one that somebody else holds, one that is free.
const HOSTS: usize = 5;
/// A claim of somebody who is no Machine.
const CLAIM: &str = "00000000000000000000000000004711";

/// How long everything may take to be as it was, once clusterctl is done.
const BACK_TO_NORMAL: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_moves_there_and_back_and_no_machine_notices() -> Result<()> {
    let stack = Stack::start(HOSTS, Ipv4Addr::new(127, 71, 0, 1)).await?;
    let workload = comes_up(&stack).await.context("coming up")?;
    let by_hand = is_held_by_somebody_else(&stack).await.context("a host without a Machine")?;
    let there = Management::start().await.context("another management cluster")?;

    let before = Known::of(&stack.management).await?;
    ensure!(before.hosts.len() == HOSTS && before.secrets.contains("bmc"), "{before:?}");
    let strays = stack.workload.strays();
    clear_logs(&stack)?;
    moves(&stack, &stack.management, &there, &before).await.context("there")?;
    has_all(&stack, &stack.management, &there, &before, &workload).await.context("having moved there")?;
    nothing_was_done(&stack, |_| true)?;

    waits_for_a_host_that_is_cleaned(&stack, &there, &by_hand, &before).await.context("back")?;
    let after = Known { hosts: before.hosts_without(&by_hand), ..before };
    has_all(&stack, &there, &stack.management, &after, &workload).await.context("having moved back")?;
    nothing_was_done(&stack, |host| host != by_hand)?;
    ensure!(stack.workload.strays() == strays, "something booted: {:?}", stack.workload.strays());

    // It is an ordinary cluster again.
    stack
        .edit(CLUSTER, |topology| topology["workers"]["machineDeployments"][0]["replicas"] = json!(3))
        .await?;
    stack.until_replicas("machinedeployment", WORKERS, 3).await?;
    until_ready(&workload, &stack.machines(CLUSTER).await?).await?;
    goes_without_a_trace(&stack, CLUSTER).await.context("going")?;
    there.stop().await?;
    stack.stop().await
}

async fn comes_up(stack: &Stack) -> Result<Client> {
    stack.apply_topology(CLUSTER, 1, 2).await?;
    stack.until_condition("cluster", CLUSTER, "Available").await?;
    stack.until_replicas("kubeadmcontrolplane", CONTROL_PLANE, 1).await?;
    stack.until_replicas("machinedeployment", WORKERS, 2).await?;
    let workload = stack.workload.client(NAMESPACE, CLUSTER).await?;
    until_ready(&workload, &stack.machines(CLUSTER).await?).await?;
    Ok(workload)
}

/// A host is claimed and booted by a consumer of a kind that nobody here knows.
async fn is_held_by_somebody_else(stack: &Stack) -> Result<String> {
    let hosts = hosts(&stack.management);
    let all = hosts.list(&ListParams::default()).await?;
    let free = all.iter().find(|host| host.spec.claim_id.is_none()).context("no host is free")?.name_any();
    let consumer = json!({"kind": "ByHand", "namespace": NAMESPACE, "name": "somebody"});
    let claim = json!({"consumerRef": consumer, "claimID": CLAIM, "bootIsoSource": stack.image("tool.iso")});
    stack.merge("physicalhost", &free, &json!({ "spec": claim })).await?;
    until_state(&stack.management, &free, HostState::Provisioned).await?;
    Ok(free)
}

/// What must be the same before and after.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    /// State, claim, boot image and consumer of each host.
    hosts: BTreeMap<String, String>,
    /// The providerID of each Machine.
    machines: BTreeMap<String, String>,
    secrets: BTreeSet<String>,
    hardware: BTreeSet<String>,
}

impl Known {
    async fn of(management: &Management) -> Result<Self> {
        let mut known = Self {
            hosts: BTreeMap::new(),
            machines: BTreeMap::new(),
            secrets: BTreeSet::new(),
            hardware: BTreeSet::new(),
        };
        for host in hosts(management).list(&ListParams::default()).await? {
            let status = host.status.as_ref();
            let state = status.and_then(|status| status.state);
            let read = status.and_then(|status| status.hardware_details.as_ref());
            let disks = read.map(|details| details.hardware.storage.len());
            let consumer = host.spec.consumer_ref.as_ref().and_then(|found| found.name.clone());
            let (claim, image) = (&host.spec.claim_id, &host.spec.boot_iso_source);
            let blocked = host.annotations().get(annotations::BLOCK_MOVE);
            let told = format!("{state:?} {claim:?} {image:?} {consumer:?}, {disks:?} disks, {blocked:?}");
            known.hosts.insert(host.name_any(), told);
        }
        for machine in management.machines(CLUSTER).await? {
            let id = management.get("machine", &machine).await?["spec"]["providerID"].to_string();
            known.machines.insert(machine, id);
        }
        let secrets = Api::<Secret>::namespaced(management.client.clone(), NAMESPACE);
        known.secrets =
            secrets.list(&ListParams::default()).await?.iter().map(ResourceExt::name_any).collect();
        let hardware = Api::<HardwareData>::namespaced(management.client.clone(), NAMESPACE);
        known.hardware =
            hardware.list(&ListParams::default()).await?.iter().map(ResourceExt::name_any).collect();
        Ok(known)
    }

    fn is_empty(&self) -> bool {
        self.hosts.is_empty()
            && self.machines.is_empty()
            && self.secrets.is_empty()
            && self.hardware.is_empty()
    }

    /// One of them became free on the way.
    fn hosts_without(&self, one: &str) -> BTreeMap<String, String> {
        let disks = |told: &String| told.split(", ").nth(1).unwrap_or_default().to_owned();
        let mut hosts = self.hosts.clone();
        if let Some(told) = hosts.get_mut(one) {
            *told = format!("{:?} None None None, {}, None", Some(HostState::Available), disks(told));
        }
        hosts
    }
}

fn hosts(management: &Management) -> Api<PhysicalHost> {
    Api::namespaced(management.client.clone(), NAMESPACE)
}

async fn until_state(management: &Management, host: &str, state: HostState) -> Result<()> {
    let hosts = &hosts(management);
    let met = wait::until_true(format!("{host} to be {state:?}"), LIMIT, || async move {
        let found = hosts.get(host).await?.status;
        let is = found.as_ref().and_then(|status| status.state);
        Ok(if is == Some(state) { Ok(()) } else { Err(format!("{found:?}")) })
    });
    Ok(met.await?)
}

/// Moves everything of the namespace, and tells how long that took, and how long it takes until all is as it was.
#[allow(
    clippy::print_stdout,
    reason = "how long a move takes is worth knowing, and is no matter of right or wrong"
)]
async fn moves(stack: &Stack, from: &Management, to: &Management, before: &Known) -> Result<String> {
    let begin = Instant::now();
    stack.workload.departs();
    let target = to.plane.kubeconfig();
    let target = target.to_string_lossy();
    let moved = from.cluster_api.clusterctl(&["move", "-n", NAMESPACE, "--to-kubeconfig", &target]).await?;
    let told = moved.stderr.clone();
    moved.success()?;
    stack.workload.arrives(&to.plane).await?;
    let took = begin.elapsed();
    is_as_it_was(to, before).await?;
    let then = begin.elapsed().saturating_sub(took);
    println!("clusterctl move took {took:.1?}, and all was as before {then:.1?} later");
    Ok(told)
}

/// Waits until the cluster is Available, its machines are Ready, and every host is what it was.
async fn is_as_it_was(management: &Management, before: &Known) -> Result<()> {
    let met = wait::until_true("all to be as it was", BACK_TO_NORMAL, || async {
        management.check()?;
        let now = Known::of(management).await?;
        if now.hosts != before.hosts {
            return Ok(Err(format!("{:#?}", now.hosts)));
        }
        for (kind, name, condition) in [("cluster", CLUSTER, "Available")]
            .into_iter()
            .chain(before.machines.keys().map(|name| ("machine", name.as_str(), "Ready")))
            .chain(before.machines.keys().map(|name| ("beskar7machine", name.as_str(), "Ready")))
        {
            let found = management.get(kind, name).await?;
            let all = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
            if !all.iter().any(|one| one["type"] == condition && one["status"] == "True") {
                return Ok(Err(format!("{kind} {name}: {:#}", found["status"]["conditions"])));
            }
        }
        Ok(Ok(()))
    });
    Ok(met.await?)
}

/// All is in one place, and nothing of it in the other.
async fn has_all(
    stack: &Stack,
    from: &Management,
    to: &Management,
    before: &Known,
    workload: &Client,
) -> Result<()> {
    is_as_it_was(to, before).await?;
    let now = Known::of(to).await?;
    ensure!(now.machines == before.machines, "{:?} became {:?}", before.machines, now.machines);
    ensure!(now.hardware == before.hardware, "{:?} became {:?}", before.hardware, now.hardware);
    let lost: Vec<&String> = before.secrets.difference(&now.secrets).collect();
    ensure!(lost.is_empty(), "Secrets did not come along: {lost:?}");
    let left = Known::of(from).await?;
    ensure!(left.is_empty(), "left behind: {left:#?}");
    for host in hosts(to).list(&ListParams::default()).await? {
        let hardware = Api::<HardwareData>::namespaced(to.client.clone(), NAMESPACE);
        let owners = hardware.get(&host.name_any()).await?.metadata.owner_references.unwrap_or_default();
        ensure!(owners.iter().any(|owner| Some(&owner.uid) == host.metadata.uid.as_ref()), "{owners:?}");
    }
    stack.workload.check().await?;
    until_ready(workload, &before.machines.keys().cloned().collect()).await
}

fn clear_logs(stack: &Stack) -> Result<()> {
    stack.racks.names().try_for_each(|host| {
        stack.racks.bmc(host)?.with(|bmc, _| bmc.machine.clear_log());
        Ok(())
    })
}

/// No BMC was told to do anything to its machine. That somebody logged in is all there is: each manager has a session.
fn nothing_was_done(stack: &Stack, to: impl Fn(&str) -> bool) -> Result<()> {
    for host in stack.racks.names().filter(|host| to(host)) {
        let bmc = stack.racks.bmc(host)?;
        let done: Vec<Action> = bmc.with(|bmc, _| {
            let all = bmc.machine.log().entries().map(|entry| entry.action.clone());
            all.filter(|action| *action != Action::LoggedIn).collect()
        });
        ensure!(done.is_empty(), "{host}: {done:?}");
    }
    Ok(())
}

/// A host that is turned off and emptied just now keeps everything where it is, until it is done.
async fn waits_for_a_host_that_is_cleaned(
    stack: &Stack,
    there: &Management,
    host: &str,
    before: &Known,
) -> Result<()> {
    let bmc = stack.racks.bmc(host)?;
    bmc.with(|bmc, _| bmc.faults.arm(Armed::always(Fault::Unauthorized).at("ComputerSystem.Reset")));
    let release = json!({"metadata": {"annotations": {annotations::RELEASE: CLAIM}}});
    there.merge("physicalhost", host, &release).await?;
    until_state(there, host, HostState::Deprovisioning).await?;
    let blocked = wait::until_true("the host to block a move", LIMIT, || async {
        let found = hosts(there).get(host).await?;
        let blocks = found.annotations().contains_key(annotations::BLOCK_MOVE);
        Ok(if blocks { Ok(()) } else { Err(format!("{:?}", found.annotations())) })
    });
    blocked.await?;

    let after = Known { hosts: before.hosts_without(host), ..before.clone() };
    let moving = moves(stack, there, &stack.management, &after);
    let mended = async {
        let paused = wait::until_true("clusterctl to have paused the cluster", LIMIT, || async {
            let found = there.get("cluster", CLUSTER).await?;
            Ok(if found["spec"]["paused"] == true { Ok(()) } else { Err("it is not".to_owned()) })
        });
        paused.await?;
        let elsewhere = hosts(&stack.management).list(&ListParams::default()).await?;
        ensure!(elsewhere.items.is_empty(), "hosts went though one is being cleaned");
        bmc.with(|bmc, _| bmc.faults.clear());
        Ok(())
    };
    let (told, mended) = tokio::join!(moving, mended);
    mended?;
    let told = told?;
    ensure!(told.contains("Move blocked by clusterctl.cluster.x-k8s.io/block-move"), "{told}");
    until_held(stack, 3).await
}
