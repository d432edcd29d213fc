//! What the demo shows: a cluster comes up on the servers, grows and shrinks. Every change of a host or a machine is told
//! as it happens.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_api::{Beskar7Machine, PhysicalHost};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::Mutex;

use super::screen::Screen;
use super::servers::NAMESPACE;
use super::stack::Stack;
use crate::wait;

/// The name of the cluster.
pub(super) const CLUSTER: &str = "edge";
const CONTROL_PLANE: u32 = 3;
const WORKERS: u32 = 2;
/// As many workers as it grows to, and shrinks to again.
const MANY: u32 = 5;
const FEW: u32 = 1;
/// For a step of the story: Cluster API looks at some things every 30 s only.
const LIMIT: Duration = Duration::from_secs(600);

/// Tells the story to its end.
pub(super) async fn tell(stack: &Stack, screen: &Screen) -> Result<()> {
    screen.step(&format!(
        "clusterctl generate cluster {CLUSTER} --control-plane-machine-count {CONTROL_PLANE} \
         --worker-machine-count {WORKERS} | kubectl apply -f -"
    ));
    let watcher = Mutex::new(Watcher::new(stack.client().await?));
    stack.apply_cluster(CLUSTER, CONTROL_PLANE, WORKERS).await?;
    until_settled(stack, screen, &watcher, WORKERS).await?;
    screen.step("the cluster is up");
    screen.blank();
    screen.text(&stack.describe(CLUSTER).await?);
    screen.text(&stack.hosts().await?);
    for workers in [MANY, FEW] {
        let (deployment, replicas) = (workers_of(CLUSTER), format!("--replicas={workers}"));
        screen.step(&format!("kubectl scale machinedeployment {deployment} {replicas}"));
        stack.kubectl(&["scale", "machinedeployment", &deployment, &replicas]).await?;
        until_settled(stack, screen, &watcher, workers).await?;
        screen.step(&format!("{workers} workers"));
        screen.blank();
        screen.text(&stack.hosts().await?);
    }
    Ok(())
}

fn workers_of(cluster: &str) -> String {
    format!("{cluster}-md-0")
}

/// Waits until the cluster has so many workers, each on a host, and every other host is free; tells what happens.
async fn until_settled(stack: &Stack, screen: &Screen, watcher: &Mutex<Watcher>, workers: u32) -> Result<()> {
    let settled = wait::until_true(format!("{workers} workers"), LIMIT, || async {
        stack.check()?;
        let mut watcher = watcher.lock().await;
        for line in watcher.changes().await? {
            screen.step(&line);
        }
        let control_plane =
            available(stack, "kubeadmcontrolplane", &format!("{CLUSTER}-control-plane")).await?;
        let deployment = available(stack, "machinedeployment", &workers_of(CLUSTER)).await?;
        let (held, free) = watcher.hosts();
        let there = control_plane == Some(u64::from(CONTROL_PLANE)) && deployment == Some(u64::from(workers));
        let hosts = held == usize::try_from(CONTROL_PLANE + workers)? && held + free == watcher.hosts.len();
        Ok(if there && hosts {
            Ok(())
        } else {
            Err(format!(
                "{control_plane:?} control-plane machines and {deployment:?} workers are available; {held} hosts are \
                 held, {free} free"
            ))
        })
    });
    Ok(settled.await?)
}

/// How many machines of a control plane or MachineDeployment are available, where its status speaks of its spec.
async fn available(stack: &Stack, kind: &str, name: &str) -> Result<Option<u64>> {
    let found = stack.kubectl(&["get", kind, name, "-o", "json"]).await?;
    let found: Value = serde_json::from_str(&found).with_context(|| format!("reading {kind} {name}"))?;
    let number = |at: &str| found.pointer(at).and_then(Value::as_u64);
    let current = number("/status/observedGeneration") == number("/metadata/generation");
    let settled = number("/status/replicas") == number("/spec/replicas");
    Ok(number("/status/availableReplicas").filter(|_| current && settled))
}

/// Tells what changed since it looked last.
struct Watcher {
    client: Client,
    /// State and consumer of each host.
    hosts: BTreeMap<String, (String, String)>,
    /// Phase of each machine.
    machines: BTreeMap<String, String>,
}

impl Watcher {
    fn new(client: Client) -> Self {
        Self { client, hosts: BTreeMap::new(), machines: BTreeMap::new() }
    }

    /// How many hosts are held, and how many are free.
    fn hosts(&self) -> (usize, usize) {
        let held = self.hosts.values().filter(|(_, consumer)| !consumer.is_empty()).count();
        let free = self.hosts.values().filter(|(state, _)| state == "Available").count();
        (held, free)
    }

    async fn changes(&mut self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let machines: Api<Beskar7Machine> = Api::namespaced(self.client.clone(), NAMESPACE);
        let now: BTreeMap<String, String> = machines
            .list(&ListParams::default())
            .await?
            .iter()
            .map(|one| (one.name_any(), phase(one)))
            .collect();
        for (name, phase) in &now {
            if self.machines.get(name) != Some(phase) {
                lines.push(format!("  machine {name}: {phase}"));
            }
        }
        lines.extend(
            self.machines
                .keys()
                .filter(|name| !now.contains_key(*name))
                .map(|name| format!("  machine {name}: gone")),
        );
        self.machines = now;

        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), NAMESPACE);
        for host in hosts.list(&ListParams::default()).await?.items {
            let state = host.status.as_ref().and_then(|status| status.state);
            let state = state.map_or_else(String::new, |state| format!("{state:?}"));
            let consumer = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.clone());
            let seen = (state, consumer.unwrap_or_default());
            let before = self.hosts.insert(host.name_any(), seen.clone());
            if before.is_some_and(|before| before.0 != seen.0) {
                let whose = if seen.1.is_empty() { String::new() } else { format!(" for {}", seen.1) };
                lines.push(format!("  host {}: {}{whose}", host.name_any(), seen.0));
            }
        }
        Ok(lines)
    }
}

/// The phase of a machine, and what it waits for where it waits.
fn phase(machine: &Beskar7Machine) -> String {
    let Some(status) = &machine.status else { return "new".to_owned() };
    let phase = status.phase.map_or_else(String::new, |phase| format!("{phase:?}"));
    let waits = status.conditions.iter().find(|condition| {
        condition.type_ == "PhysicalHostAssociated" && condition.reason == "WaitingForPhysicalHost"
    });
    match waits {
        Some(condition) => format!("{phase} ({})", condition.message),
        None => phase,
    }
}
