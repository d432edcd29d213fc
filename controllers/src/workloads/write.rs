//! Writes to Nodes: a providerID where there is none, and the labels of a host. Each is done by a task of its own, at
//! what was looked at, and shows in what is known afterwards.

use std::{collections::BTreeMap, sync::Arc};

use beskar7_core::machine::node_link::{Node, SystemId};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{
    Workload, Workloads,
    node::{self, LABELS_BY, Read},
};
use crate::{causes::causes, watch::Key};

/// As many writes to one cluster as are under way at once.
pub(super) const AT_ONCE: usize = 4;
/// A Node changes with every heartbeat of its kubelet: who loses a race looks again this often.
const RACES: usize = 3;
/// Who writes providerIDs.
const PROVIDER_ID_BY: &str = "beskar7-node-link";

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Give a Node its providerID, if it still is the one that was looked at and has none.
    ProviderId {
        /// Its name.
        node: String,
        /// Another Node of the same name has another.
        uid: String,
        /// The board by which it was found.
        system: SystemId,
        /// The providerID.
        id: String,
    },
    /// Make these our labels of a Node, and no others.
    Labels {
        /// Its name.
        node: String,
        /// Another Node of the same name has another.
        uid: String,
        /// Our labels.
        labels: BTreeMap<String, String>,
    },
}

impl Write {
    fn node(&self) -> &str {
        match self {
            Self::ProviderId { node, .. } | Self::Labels { node, .. } => node,
        }
    }
}

impl Workloads {
    /// Has something written for a machine, which is woken when that is done or failed. Nothing happens while something
    /// is being written for it, or was in vain a moment ago.
    pub fn order(self: &Arc<Self>, cluster: &Key, machine: &Key, write: Write) {
        let workload = self.workload(cluster);
        if !workload.board().begins_to_write(machine, Instant::now()) {
            return;
        }
        tokio::spawn(carry_out(self.clone(), workload, machine.clone(), write));
    }
}

/// How a write ended.
enum Outcome {
    /// The Node is this now, written by us or by somebody else; gone if there is none.
    Seen(Option<Box<Node>>),
    /// It was not written, and the Node is this now.
    Contested(Option<Box<Node>>, String),
    /// It was not written.
    Failed(String),
}

async fn carry_out(workloads: Arc<Workloads>, workload: Arc<Workload>, machine: Key, write: Write) {
    let outcome = tokio::select! {
        outcome = attempt(&workloads, &workload, &write) => outcome,
        () = workload.gone.cancelled() => return,
    };
    tracing::info!(cluster = workload.cluster.1, machine = machine.1, node = write.node(), outcome = %outcome.told(), "a Node is written");
    let failed = outcome.failed().map(|why| (why, workloads.retries.failed(machine.clone())));
    if failed.is_none() {
        workloads.retries.forget(&machine);
    }
    {
        let mut board = workload.board();
        match outcome {
            Outcome::Seen(node) | Outcome::Contested(node, _) => {
                board.replace(write.node(), node.map(|node| *node));
            }
            Outcome::Failed(_) => {}
        }
        board.has_written(&machine, failed, Instant::now());
    }
    workloads.wake([machine]);
}

impl Outcome {
    fn failed(&self) -> Option<String> {
        match self {
            Self::Seen(_) => None,
            Self::Contested(_, why) | Self::Failed(why) => Some(why.clone()),
        }
    }

    fn told(&self) -> String {
        self.failed().unwrap_or_else(|| "done".to_owned())
    }
}

async fn attempt(workloads: &Workloads, workload: &Workload, write: &Write) -> Outcome {
    let Ok(_turn) = workload.writes.acquire().await else {
        return Outcome::Failed("everything ends".to_owned());
    };
    let contact = workload.board().contact();
    let Some(contact) = contact else {
        return Outcome::Failed("there is no way to the workload cluster".to_owned());
    };
    if !(workloads.means.may_write)() {
        return Outcome::Failed("this replica does not lead".to_owned());
    }
    let nodes = Nodes { api: node::api(&contact.client), label_prefixes: workloads.label_prefixes() };
    let written = async {
        match write {
            Write::ProviderId { node, uid, system, id } => nodes.set_provider_id(node, uid, system, id).await,
            Write::Labels { node, uid, labels } => nodes.set_labels(node, uid, labels).await,
        }
    };
    let limit = workloads.means.pace.request;
    match timeout(limit, written).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Failed(causes(&error)),
        Err(_) => Outcome::Failed(format!("the API server did not answer within {limit:?}")),
    }
}

struct Nodes<'a> {
    api: Api<Read>,
    label_prefixes: &'a [String],
}

impl Nodes<'_> {
    fn keep(&self, read: Read) -> Box<Node> {
        Box::new(node::keep(read, self.label_prefixes))
    }

    async fn set_provider_id(
        &self,
        name: &str,
        uid: &str,
        system: &SystemId,
        id: &str,
    ) -> Result<Outcome, kube::Error> {
        for _ in 0..RACES {
            let Some(read) = self.api.get_opt(name).await? else { return Ok(Outcome::Seen(None)) };
            let version = read.metadata.resource_version.clone();
            let now = self.keep(read);
            if now.uid != uid || now.provider_id.is_some() || now.deleting || now.system != *system {
                return Ok(Outcome::Seen(Some(now)));
            }
            let change = json!({
                "metadata": { "uid": uid, "resourceVersion": version },
                "spec": { "providerID": id },
            });
            let by = PatchParams { field_manager: Some(PROVIDER_ID_BY.to_owned()), ..PatchParams::default() };
            match self.api.patch(name, &by, &Patch::Merge(&change)).await {
                Ok(written) => {
                    let now = self.keep(written);
                    return Ok(match now.provider_id.as_deref() == Some(id) {
                        true => Outcome::Seen(Some(now)),
                        false => {
                            Outcome::Contested(Some(now), "the workload cluster does not keep it".to_owned())
                        }
                    });
                }
                Err(kube::Error::Api(refusal)) if refusal.is_conflict() || refusal.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Outcome::Failed("it changes faster than it can be written".to_owned()))
    }

    /// Without force: what others have set stays theirs. The uid keeps a Node that is gone from being made anew.
    async fn set_labels(
        &self,
        name: &str,
        uid: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<Outcome, kube::Error> {
        let wanted = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": name, "uid": uid, "labels": labels },
        });
        match self.api.patch(name, &PatchParams::apply(LABELS_BY), &Patch::Apply(&wanted)).await {
            Ok(written) => {
                let now = self.keep(written);
                // Admission there may change what is written: it is not written over and over.
                let kept = now.ours.iter().eq(labels.keys())
                    && labels.iter().all(|(label, value)| now.labels.get(label) == Some(value));
                Ok(match kept {
                    true => Outcome::Seen(Some(now)),
                    false => {
                        Outcome::Contested(Some(now), "the workload cluster does not keep them".to_owned())
                    }
                })
            }
            Err(kube::Error::Api(refusal)) if refusal.is_conflict() || refusal.is_not_found() => {
                let now = self.api.get_opt(name).await?.map(|read| self.keep(read));
                Ok(Outcome::Contested(now, refusal.message.clone()))
            }
            Err(error) => Err(error),
        }
    }
}
