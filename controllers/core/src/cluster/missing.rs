//! An endpoint that is not known: whether a host can be kept to become it, or who has to do what.

use std::time::Duration;

use beskar7_api::{
    Beskar7Cluster, PhysicalHost,
    cluster::ApiEndpoint,
    cluster_api::{self, ContractReference},
    conditions::cluster as reasons,
    labels,
    selector::{HardwareRequirements, HostSelector},
};

use super::{
    decide::{Observed, Requeue},
    endpoint::at,
    known::running,
    pool::Pool,
    reservation::{Search, search},
};
use crate::conditions::{Finding, Truth};

/// While something is waited for that is not watched.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// What makes a Cluster's control-plane machines, as far as it was found out.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlPlane {
    /// It is there.
    Found {
        /// How many machines it makes, where it says so.
        replicas: Option<i64>,
        /// Whether it brings the endpoint itself, as those do that run elsewhere.
        brings_endpoint: bool,
        /// What it wants of its machines' hosts.
        hosts: Box<HostWish>,
    },
    /// It is not known.
    Unread(Unread),
}

/// Why a control plane is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// Nobody looked: there is none, or it is not asked for.
    NotAsked,
    /// It does not exist.
    Absent,
    /// The API server does not know its kind.
    UnknownKind,
    /// We may not read it.
    Forbidden,
    /// The template of its machines does not exist.
    TemplateAbsent(String),
    /// It could not be read, for this reason.
    Failed(String),
}

/// What a control plane wants of its machines' hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostWish {
    /// Which hosts may be chosen, by label.
    pub selector: Option<HostSelector>,
    /// The least hardware that will do.
    pub requirements: Option<HardwareRequirements>,
}

/// What is done about an endpoint that is not known.
pub(super) enum Missing<'a> {
    /// This host is to be kept for the first control-plane machine.
    Reserve(&'a PhysicalHost),
    /// A host is kept, and this is the endpoint that it makes.
    Write(ApiEndpoint),
    /// It is waited for.
    Wait(Waiting),
}

/// What is waited for.
pub(super) struct Waiting {
    pub(super) finding: Finding,
    /// Whether Cluster API may go on: machines come first, and the endpoint from them.
    pub(super) provisioned: bool,
    /// When to look again.
    pub(super) requeue: Requeue,
}

/// What makes a Cluster's control-plane machines, if something is named.
pub(super) fn control_plane(owner: &cluster_api::Cluster) -> Option<&ContractReference> {
    owner.spec.control_plane_ref.as_ref().filter(|named| !named.kind.is_empty() && !named.name.is_empty())
}

pub(super) fn missing<'a>(
    cluster: &Beskar7Cluster,
    owner: &cluster_api::Cluster,
    observed: &Observed<'a>,
    pool: &Pool<'_>,
) -> Missing<'a> {
    let Some(named) = control_plane(owner) else {
        let message = nothing_named(owner, &observed.machines);
        return Missing::Wait(Waiting {
            finding: no(reasons::ENDPOINT_NOT_SET, message),
            provisioned: true,
            requeue: Requeue::OnChange,
        });
    };
    let name = format!("{} {}", named.kind, named.name);
    let (replicas, hosts) = match &observed.control_plane {
        ControlPlane::Unread(why) => {
            let told = unread(why, &name, &named.api_group);
            return wait(reasons::WAITING_FOR_CONTROL_PLANE, &told, requeue(why));
        }
        ControlPlane::Found { brings_endpoint: true, .. } => {
            let message = format!("{name} brings the endpoint, when it is ready");
            let finding = no(reasons::ENDPOINT_NOT_SET, message);
            return Missing::Wait(Waiting {
                finding,
                provisioned: true,
                requeue: Requeue::Growing(LOOK_AGAIN),
            });
        }
        ControlPlane::Found { brings_endpoint: false, replicas, hosts } => (*replicas, hosts),
    };
    match replicas {
        Some(1) => {}
        Some(several) => {
            let why =
                format!("{name} wants {several} machines, and no single host can be the endpoint of them");
            return needed(&why);
        }
        None => return needed(&format!("{name} does not say how many machines it wants")),
    }
    if let Some(elsewhere) = elsewhere(pool, hosts) {
        return wait(reasons::HOST_POOL_NOT_ALLOWED, &elsewhere, Requeue::Growing(LOOK_AGAIN));
    }
    match search(pool, cluster, hosts, &observed.hosts) {
        Search::Kept(address) => Missing::Write(at(address, cluster.spec.control_plane_endpoint.as_ref())),
        Search::Free(host) => Missing::Reserve(host),
        Search::Nothing(why) => {
            let why =
                format!("{name} wants one machine, whose host can be the endpoint, but there is none. {why}");
            wait(reasons::WAITING_FOR_PHYSICAL_HOST, &why, Requeue::Growing(LOOK_AGAIN))
        }
    }
}

fn nothing_named(owner: &cluster_api::Cluster, machines: &[&cluster_api::Machine]) -> String {
    match running(owner, machines).next() {
        Some(machine) => format!(
            "Machine {} runs, but tells no address: write it into spec.addresses of its PhysicalHost, or \
             spec.controlPlaneEndpoint of this Beskar7Cluster",
            machine.metadata.name.as_deref().unwrap_or_default()
        ),
        None => format!(
            "No endpoint is given, and the Cluster names no control plane. It is taken from the first Machine with \
             the label {} whose infrastructure is ready",
            labels::CONTROL_PLANE
        ),
    }
}

/// That hosts are wanted from where none may be had, in a sentence.
fn elsewhere(pool: &Pool<'_>, hosts: &HostWish) -> Option<String> {
    let in_namespace = hosts.selector.as_ref().and_then(|selector| selector.in_namespace.as_deref());
    let by_template = in_namespace.filter(|there| !pool.is_in(there)).map(|there| {
        format!(
            "hostSelector.inNamespace of the control plane's Beskar7MachineTemplate is {there}, and the endpoint is the \
             address of a host of the pool: write {there} into spec.hostPool.namespace of this Beskar7Cluster"
        )
    });
    pool.closed.clone().or(by_template)
}

fn unread(why: &Unread, name: &str, group: &str) -> String {
    match why {
        Unread::NotAsked => format!("{name} has not been read yet"),
        Unread::Absent => format!("{name} does not exist (yet), and the Cluster names it"),
        Unread::UnknownKind => {
            format!("The API server does not know the kind of {name} in {group}: install its provider")
        }
        Unread::Forbidden => format!(
            "We are not allowed to read {name}, which says how many machines it wants: allow the manager to get it in \
             {group}"
        ),
        Unread::TemplateAbsent(template) => {
            format!("Beskar7MachineTemplate {template}, which {name} names, does not exist (yet)")
        }
        Unread::Failed(why) => format!("{name} can't be read: {why}"),
    }
}

/// What ends every one of these waits.
const GIVE_ONE: &str = "give an endpoint in spec.controlPlaneEndpoint of this Beskar7Cluster: a virtual IP (the template \
                        flavour kube-vip sets one up), a load balancer or a DNS name";

/// Only people can end it; but the number may change, and is not watched.
fn needed(why: &str) -> Missing<'static> {
    let finding = no(reasons::ENDPOINT_NEEDED, format!("{why}. Please {GIVE_ONE}"));
    Missing::Wait(Waiting { finding, provisioned: false, requeue: Requeue::Growing(LOOK_AGAIN) })
}

fn wait(reason: &'static str, why: &str, requeue: Requeue) -> Missing<'static> {
    let finding = no(reason, format!("{why}. Or {GIVE_ONE}"));
    Missing::Wait(Waiting { finding, provisioned: false, requeue })
}

/// Nothing of it is watched.
const fn requeue(why: &Unread) -> Requeue {
    match why {
        Unread::Failed(_) => Requeue::Failed,
        Unread::NotAsked
        | Unread::Absent
        | Unread::UnknownKind
        | Unread::Forbidden
        | Unread::TemplateAbsent(_) => Requeue::Growing(LOOK_AGAIN),
    }
}

fn no(reason: &'static str, message: String) -> Finding {
    Finding { truth: Truth::False, reason, message }
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
