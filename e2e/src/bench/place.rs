//! Where everything is measured: a control plane with our release, simulated BMCs, and a new namespace for each run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_redfish_bench::simulator::{PASSWORD, Simulator, USER, Wanted};
use beskar7_redfish_bench::usage::processor_time;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::DeleteParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::control_plane::{AuditEvent, ControlPlane};
use crate::installation::installed;
use crate::manager::{self, Manager, NAMESPACE};
use crate::objects::{BMC_SECRET, make_cluster, make_namespace, make_secret};
use crate::wait;

/// The Secret with the CA of BMCs that speak https.
const CA_SECRET: &str = "bmc-ca";
const LEASE: &str = "beskar7-controller-manager";
/// For a manager to lead.
const LEAD_LIMIT: Duration = Duration::from_secs(60);

/// A host that is or will be.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) name: String,
    /// Where its BMC is.
    pub(super) url: String,
}

/// Where everything is measured.
pub(super) struct Place {
    pub(super) plane: ControlPlane,
    /// As the administrator.
    pub(super) client: Client,
    pub(super) simulator: Simulator,
    manager: PathBuf,
    /// How many namespaces there are.
    namespaces: usize,
    /// As far as the audit log was read.
    audited: u64,
}

impl Place {
    /// With this manager, and as many BMCs of this simulator.
    pub(super) async fn open(manager: &Path, simulator: &Path, hosts: usize, tls: bool) -> Result<Self> {
        let simulator = Simulator::start(&Wanted {
            program: simulator,
            count: hosts,
            profile: "plain",
            latency: "20ms",
            tls,
        })?;
        let plane = installed().await?;
        let client = plane.client().await?;
        Ok(Self { plane, client, simulator, manager: manager.to_owned(), namespaces: 0, audited: 0 })
    }

    pub(super) async fn close(self) -> Result<()> {
        self.plane.stop().await
    }

    /// A namespace with what hosts and machines need, and none of them yet. No BMC knows a session.
    pub(super) async fn new_namespace(&mut self) -> Result<String> {
        self.namespaces += 1;
        let namespace = format!("metal-{}", self.namespaces);
        make_namespace(&self.client, &namespace).await?;
        let credentials = json!({"username": USER, "password": PASSWORD});
        make_secret(&self.client, &namespace, BMC_SECRET, &credentials).await?;
        if let Some(pem) = self.simulator.ca() {
            let pem = String::from_utf8(pem.to_vec()).context("the CA of the BMCs")?;
            make_secret(&self.client, &namespace, CA_SECRET, &json!({"ca.crt": pem})).await?;
        }
        make_cluster(&self.client, &namespace).await?;
        self.simulator.clear_faults().await?;
        self.simulator.forget_sessions().await?;
        Ok(namespace)
    }

    /// As many as there are BMCs.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let addresses = self.simulator.addresses().into_iter().enumerate();
        addresses
            .map(|(number, address)| Host {
                name: format!("h-{number:05}"),
                url: self.simulator.url(address),
            })
            .collect()
    }

    /// What a host says of its BMC. It stays off, so that a claim boots nothing.
    pub(super) fn manifest(&self, host: &Host) -> Value {
        let ca_bundle = self.simulator.ca().map(|_| json!({"name": CA_SECRET}));
        json!({"spec": {
            "online": false,
            "redfishConnection": {"address": host.url, "caBundleSecretRef": ca_bundle},
        }})
    }

    /// The manager as it is released, but for the one namespace that it looks after; it leads when this returns.
    pub(super) async fn start_manager(&self, namespace: &str) -> Result<Manager> {
        self.lead(&self.replica(&format!("manager-{namespace}"), namespace)).await
    }

    /// How a replica is started that looks after one namespace.
    pub(super) fn replica(&self, name: &str, namespace: &str) -> manager::Options {
        manager::Options {
            name: name.to_owned(),
            program: self.manager.clone(),
            // What asks a hung BMC would keep the next run waiting.
            flags: vec![format!("--namespace={namespace}"), "--shutdown-timeout=1s".to_owned()],
            ..manager::Options::default()
        }
    }

    /// Starts a replica; it leads when this returns.
    pub(super) async fn lead(&self, options: &manager::Options) -> Result<Manager> {
        let manager = Manager::start(&self.plane, options).await?;
        wait::until_true("the manager to lead", LEAD_LIMIT, || async {
            let leads = manager.metrics().await?.lines().any(|line| line == "beskar7_leader 1");
            Ok(if leads { Ok(()) } else { Err("it does not lead".to_owned()) })
        })
        .await?;
        // Now that it leads, it is ready when it knows all there is.
        manager.ready().await?;
        Ok(manager)
    }

    /// Stops a manager. Where work was cut off, it keeps its Lease, for which the next would have to wait.
    pub(super) async fn stop_manager(&self, manager: Manager) -> Result<()> {
        manager.stop().await?;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), NAMESPACE);
        leases.delete(LEASE, &DeleteParams::default()).await.context("the manager's Lease")?;
        Ok(())
    }

    /// What was asked of the API server since the last call.
    pub(super) fn asked(&mut self) -> Result<Vec<AuditEvent>> {
        let (events, place) = self.plane.audit_from(self.audited)?;
        self.audited = place;
        Ok(events)
    }

    /// The processor time that each process has used so far.
    pub(super) fn processors(&self, manager: Option<&Manager>) -> Result<Processors> {
        let mut pids = vec![("the simulator", self.simulator.pid()), ("this program", std::process::id())];
        for process in self.plane.processes().chain(manager.map(Manager::process)) {
            let name = match process.name() {
                "kube-apiserver" => "the API server",
                "kube-controller-manager" => "kube-controller-manager",
                "etcd" => "etcd",
                _ => "the manager",
            };
            pids.push((name, process.pid().unsigned_abs()));
        }
        let times = pids.into_iter().map(|(name, pid)| Ok((name, processor_time(pid)?)));
        Ok(Processors(times.collect::<Result<_>>()?))
    }
}

/// The processor time of several processes.
#[derive(Debug, Clone)]
pub(super) struct Processors(BTreeMap<&'static str, Duration>);

impl Processors {
    /// What was used since then.
    pub(super) fn since(&self, before: &Self) -> Self {
        let used = self.0.iter().map(|(name, now)| {
            let then = before.0.get(name).copied().unwrap_or_default();
            (*name, now.saturating_sub(then))
        });
        Self(used.collect())
    }

    /// As text: who used how much.
    pub(super) fn text(&self) -> String {
        let each = self.0.iter().map(|(name, used)| format!("{name} {:.1} s", used.as_secs_f64()));
        each.collect::<Vec<_>>().join(", ")
    }
}
