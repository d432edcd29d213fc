//! What a claim wants of its host.

use std::collections::BTreeSet;

use beskar7_api::{HostClaim, annotations};

use super::image::order;
use crate::{
    claim::{Mark, Wanting},
    delivery::Delivery,
};

/// What a claim wants. `open` are the namespaces that let its own have hosts: a claim needs a policy wherever the hosts
/// are.
#[must_use]
pub fn wanting(claim: &HostClaim, open: &BTreeSet<String>, delivery: Delivery) -> Wanting {
    let (own, name) = (own(claim), claim.metadata.name.as_deref().unwrap_or_default());
    let spec = &claim.spec;
    let namespaces = match place(claim) {
        Some(there) => open.iter().filter(|open| *open == there).cloned().collect(),
        None => open.clone(),
    };
    let order = order(claim, delivery).ok();
    Wanting {
        consumer: format!("HostClaim/{own}/{name}"),
        owner: Some(format!("Tenant/{own}")),
        namespaces,
        pool: None,
        host: spec.host_ref.as_ref().map(|host| host.name.clone()),
        selector: spec.host_selector.as_ref().map(|selector| selector.labels.clone()),
        requirements: spec.hardware_requirements.clone(),
        zone: spec.failure_domain.clone(),
        parameters_by: order.as_ref().and_then(|order| order.parameters_by),
        from_network: order.is_some_and(|order| order.boot.method.is_from_network()),
        reservation: None,
    }
}

/// Why a claim may have no host at all, where it is so; nothing for one that names its host: whether that is forbidden or
/// does not exist is not the tenant's to know. `misses_labels`: it may be for labels that are not known.
#[must_use]
pub fn not_authorized(claim: &HostClaim, wanting: &Wanting, misses_labels: bool) -> Option<String> {
    if !wanting.namespaces.is_empty() || claim.spec.host_ref.is_some() {
        return None;
    }
    let own = own(claim);
    let told = match place(claim) {
        Some(there) => format!("No HostDeployPolicy in namespace {there} lets namespace {own} have hosts"),
        None => format!("No HostDeployPolicy lets namespace {own} have hosts: ask the platform team for one"),
    };
    Some(match misses_labels {
        true => format!(
            "{told}. One that goes by labels is of no use here: the manager does not know those of namespaces"
        ),
        false => told,
    })
}

/// What says that a claim is to be left as it is, if something does.
#[must_use]
pub fn on_hold(claim: &HostClaim) -> Option<Mark> {
    let annotations = claim.metadata.annotations.as_ref()?;
    if annotations.contains_key(annotations::DELETE_FOR_MOVE) {
        return Some(Mark::Moved);
    }
    annotations
        .contains_key(annotations::PAUSED)
        .then(|| Mark::Paused(format!("The annotation {} is set", annotations::PAUSED)))
}

fn own(claim: &HostClaim) -> &str {
    claim.metadata.namespace.as_deref().unwrap_or_default()
}

/// The one namespace that the hosts are wanted from, where the claim says so.
fn place(claim: &HostClaim) -> Option<&str> {
    match (&claim.spec.host_ref, &claim.spec.host_selector) {
        (Some(host), _) => {
            Some(host.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or(own(claim)))
        }
        (None, Some(selector)) => selector.in_namespace.as_deref(),
        (None, None) => None,
    }
}

#[cfg(test)]
#[path = "wanting_tests.rs"]
mod tests;
