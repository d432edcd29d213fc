//! An endpoint that is known: from where, and what is to be done so that everybody knows it. Once known it stays:
//! kubeconfigs and certificates carry it.

use beskar7_api::{
    Beskar7Cluster, PhysicalHost, cluster::ApiEndpoint, cluster_api, conditions::cluster as reasons, labels,
};

use super::{
    decide::Observed,
    endpoint::{at, best, checked, named, text},
    pool::Pool,
    reservation::{declares, is_free, is_kept},
    zones::ControlPlaneIn,
};
use crate::conditions::{Finding, Truth, get};

/// Whether the endpoint is settled.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Settled {
    /// It is this one.
    At(ApiEndpoint),
    /// Somebody gave one that can't work.
    Wrong(Finding),
    /// Not yet.
    Open,
}

/// Looks where an endpoint may stand, in this order: the Cluster, which everybody else reads; our spec; our status,
/// should the spec have lost it; the addresses of a control-plane machine that runs.
pub(super) fn settled(
    cluster: &Beskar7Cluster,
    owner: &cluster_api::Cluster,
    machines: &[&cluster_api::Machine],
) -> Settled {
    let own = cluster.spec.control_plane_endpoint.as_ref();
    let places = [("the Cluster", owner.spec.control_plane_endpoint.as_ref()), ("this Beskar7Cluster", own)];
    for (place, given) in places {
        let Some(given) = named(given) else { continue };
        return match checked(given) {
            Ok(endpoint) => Settled::At(endpoint),
            Err(why) => Settled::Wrong(Finding {
                truth: Truth::False,
                reason: reasons::INVALID_ENDPOINT,
                message: format!("In spec.controlPlaneEndpoint of {place}, {why}"),
            }),
        };
    }
    let recorded = || checked(named(recorded(cluster))?).ok();
    let discovered = || discovered(owner, machines).map(|address| at(address, own));
    recorded().or_else(discovered).map_or(Settled::Open, Settled::At)
}

/// The best address of a control-plane machine that runs; of equally good ones, that of the oldest machine.
fn discovered<'a>(owner: &cluster_api::Cluster, machines: &[&'a cluster_api::Machine]) -> Option<&'a str> {
    running(owner, machines)
        .filter_map(|machine| {
            let (rank, address) = best(&machine.status.as_ref()?.addresses)?;
            let age = machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
            Some(((rank, age, &machine.metadata.name), address))
        })
        .min_by_key(|(order, _)| *order)
        .map(|(_, address)| address)
}

/// The control-plane machines of a Cluster whose infrastructure is ready.
pub(super) fn running<'m, 'a>(
    owner: &'m cluster_api::Cluster,
    machines: &'m [&'a cluster_api::Machine],
) -> impl Iterator<Item = &'a cluster_api::Machine> + use<'m, 'a> {
    let of_control_plane = |machine: &cluster_api::Machine| {
        let labels = machine.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.contains_key(labels::CONTROL_PLANE))
    };
    machines.iter().copied().filter(move |machine| {
        Some(&machine.spec.cluster_name) == owner.metadata.name.as_ref()
            && machine.metadata.namespace == owner.metadata.namespace
            && machine.metadata.deletion_timestamp.is_none()
            && of_control_plane(machine)
            && infrastructure_is_ready(machine)
    })
}

fn infrastructure_is_ready(machine: &cluster_api::Machine) -> bool {
    let Some(status) = &machine.status else { return false };
    let provisioned = status.initialization.as_ref().and_then(|all| all.infrastructure_provisioned);
    let condition = get(&status.conditions, cluster_api::INFRASTRUCTURE_READY);
    provisioned == Some(true) || condition.is_some_and(|found| found.status == Truth::True.as_str())
}

/// How an endpoint came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Given,
    ReservedHost,
    Discovered,
}

/// What follows from a known endpoint.
pub(super) enum Known<'a> {
    /// It is to be written into the spec, where Cluster API looks for it.
    Write(ApiEndpoint),
    /// Somebody took the mark off the host whose address it is.
    Reserve(&'a PhysicalHost),
    /// This host is kept for nothing: its address is not the endpoint.
    Unreserve(&'a PhysicalHost),
    /// Nothing: all is said.
    Said { finding: Finding, control_plane: ControlPlaneIn<'a> },
}

pub(super) fn known<'a>(
    cluster: &Beskar7Cluster,
    owner: &cluster_api::Cluster,
    observed: &Observed<'a>,
    pool: &Pool<'_>,
    endpoint: &ApiEndpoint,
) -> Known<'a> {
    if is_unwritten(cluster, endpoint) {
        return Known::Write(endpoint.clone());
    }
    let kept = || observed.hosts.iter().copied().filter(|host| is_kept(host, cluster));
    // Two kept hosts, and the first machine might land on the wrong one. One in use does no harm.
    let stray = kept().find(|host| !declares(host, &endpoint.host) && host.spec.claim_id.is_none());
    if let Some(stray) = stray {
        return Known::Unreserve(stray);
    }
    let said = |finding, control_plane| Known::Said { finding, control_plane };
    if let Some(host) = kept().find(|host| declares(host, &endpoint.host)) {
        return said(reserved(endpoint), control_plane_in(host));
    }
    match way(cluster, owner, observed, endpoint) {
        Way::Given => said(given(cluster, endpoint), ControlPlaneIn::Every),
        Way::Discovered => said(taken_from_machine(endpoint), ControlPlaneIn::Every),
        Way::ReservedHost => {
            let declaring = || observed.hosts.iter().copied().filter(|host| declares(host, &endpoint.host));
            match (declaring().find(|host| is_free(pool, host)), declaring().next()) {
                (Some(free), _) => Known::Reserve(free),
                (None, Some(host)) => said(reserved(endpoint), control_plane_in(host)),
                (None, None) => said(gone(endpoint), ControlPlaneIn::Every),
            }
        }
    }
}

/// Once the first machine has its host, others may be anywhere.
const fn control_plane_in(host: &PhysicalHost) -> ControlPlaneIn<'_> {
    match &host.spec.claim_id {
        None => ControlPlaneIn::ZoneOf(host),
        Some(_) => ControlPlaneIn::Every,
    }
}

/// Whether our spec does not say it yet. One that says another is left as people wrote it.
fn is_unwritten(cluster: &Beskar7Cluster, endpoint: &ApiEndpoint) -> bool {
    match named(cluster.spec.control_plane_endpoint.as_ref()) {
        None => true,
        // Cluster API takes no endpoint without a port.
        Some(written) => written.host == endpoint.host && written.port == 0,
    }
}

/// How it came about is told once; afterwards what was told stays.
fn way(
    cluster: &Beskar7Cluster,
    owner: &cluster_api::Cluster,
    observed: &Observed<'_>,
    endpoint: &ApiEndpoint,
) -> Way {
    let status = cluster.status.as_ref().filter(|_| recorded(cluster) == Some(endpoint));
    let told = status.and_then(|status| get(&status.conditions, reasons::CONTROL_PLANE_ENDPOINT_READY));
    match told.map(|told| told.reason.as_str()) {
        Some(reasons::HOST_RESERVED | reasons::RESERVED_HOST_GONE) => Way::ReservedHost,
        Some(reasons::ENDPOINT_DISCOVERED) => Way::Discovered,
        Some(reasons::ENDPOINT_GIVEN) => Way::Given,
        // It was written a moment ago, and not told yet.
        Some(_) | None => {
            let host = Some(endpoint.host.as_str());
            if discovered(owner, &observed.machines) == host { Way::Discovered } else { Way::Given }
        }
    }
}

fn recorded(cluster: &Beskar7Cluster) -> Option<&ApiEndpoint> {
    cluster.status.as_ref()?.control_plane_endpoint.as_ref()
}

fn yes(reason: &'static str, message: String) -> Finding {
    Finding { truth: Truth::True, reason, message }
}

fn given(cluster: &Beskar7Cluster, endpoint: &ApiEndpoint) -> Finding {
    let text_ = text(endpoint);
    let own = named(cluster.spec.control_plane_endpoint.as_ref());
    let message = match own.filter(|own| *own != endpoint) {
        None => format!("{text_}, as it was given"),
        Some(own) => format!(
            "{text_}, as the Cluster says. spec.controlPlaneEndpoint of this Beskar7Cluster says {}, which nobody \
             uses: write the same there",
            text(own)
        ),
    };
    yes(reasons::ENDPOINT_GIVEN, message)
}

fn reserved(endpoint: &ApiEndpoint) -> Finding {
    let message = format!(
        "{}, the address of a host that is kept for the first control-plane machine. Any rollout of the control plane \
         replaces this host and with it the endpoint, which can't change: for a cluster that is to be upgraded, give \
         a virtual IP",
        text(endpoint)
    );
    yes(reasons::HOST_RESERVED, message)
}

fn taken_from_machine(endpoint: &ApiEndpoint) -> Finding {
    let message = format!(
        "{}, the address of a control-plane machine. The endpoint goes when that machine goes: for a cluster that \
         outlives its machines, give a virtual IP",
        text(endpoint)
    );
    yes(reasons::ENDPOINT_DISCOVERED, message)
}

fn gone(endpoint: &ApiEndpoint) -> Finding {
    let message = format!(
        "{} was the address of a reserved host, and no PhysicalHost declares it any more. The endpoint can't change: \
         enrol a host again that declares {} in spec.addresses, or make the cluster anew",
        text(endpoint),
        endpoint.host
    );
    Finding { truth: Truth::False, reason: reasons::RESERVED_HOST_GONE, message }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
