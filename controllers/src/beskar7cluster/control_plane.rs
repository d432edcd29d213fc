//! Reads what makes a Cluster's control-plane machines: an object of any kind, which is neither known here nor watched.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use beskar7_api::{Beskar7MachineTemplate, GROUP, cluster_api::ContractReference};
use beskar7_core::cluster::{ControlPlane, HostWish, Unread};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    core::GroupVersionKind,
    discovery,
    error::DiscoveryError,
};
use serde_json::Value;

use crate::causes::causes;

/// The kind that nearly everybody uses, at the version of our contract: it needs no discovery.
const KUBEADM: (&str, &str, &str, &str) =
    ("controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane", "kubeadmcontrolplanes");
const TEMPLATE: &str = "Beskar7MachineTemplate";

/// Where the control plane names the template of its machines, in the contract and in the one before.
const TEMPLATE_AT: [&str; 2] =
    ["/spec/machineTemplate/spec/infrastructureRef", "/spec/machineTemplate/infrastructureRef"];

/// Reads control planes.
pub(super) struct ControlPlanes {
    client: Client,
    /// How kinds are asked for, by group and kind.
    kinds: Mutex<HashMap<(String, String), ApiResource>>,
}

impl ControlPlanes {
    pub(super) fn new(client: Client) -> Self {
        let (group, version, kind, plural) = KUBEADM;
        let kubeadm = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let kinds = HashMap::from([((group.to_owned(), kind.to_owned()), kubeadm)]);
        Self { client, kinds: Mutex::new(kinds) }
    }

    /// Reads the one that a Cluster of this namespace names.
    pub(super) async fn read(&self, namespace: &str, named: &ContractReference) -> ControlPlane {
        self.found(namespace, named).await.unwrap_or_else(ControlPlane::Unread)
    }

    async fn found(&self, namespace: &str, named: &ContractReference) -> Result<ControlPlane, Unread> {
        let kind = self.kind(named).await?;
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &kind);
        let object = match api.get_opt(&named.name).await {
            Ok(Some(object)) => object,
            Ok(None) => return Err(Unread::Absent),
            // Nobody serves this path: the provider is not there, or no longer in this version.
            Err(kube::Error::Api(refusal)) if refusal.code == 404 => {
                self.forget(named);
                return Err(Unread::UnknownKind);
            }
            Err(error) => return Err(unread(&error)),
        };
        let (replicas, brings_endpoint) = (replicas(&object.data), brings_endpoint(&object.data));
        // Only who makes one machine gets a host from us.
        let hosts = match template(&object.data).filter(|_| replicas == Some(1) && !brings_endpoint) {
            Some(name) => Box::new(self.wish(namespace, name).await?),
            None => Box::default(),
        };
        Ok(ControlPlane::Found { replicas, brings_endpoint, hosts })
    }

    /// What the machines of a template want of their hosts.
    async fn wish(&self, namespace: &str, name: &str) -> Result<HostWish, Unread> {
        let api: Api<Beskar7MachineTemplate> = Api::namespaced(self.client.clone(), namespace);
        let template = api.get_opt(name).await.map_err(|error| unread(&error))?;
        let machine = template.ok_or_else(|| Unread::TemplateAbsent(name.to_owned()))?.spec.template.spec;
        Ok(HostWish { selector: machine.host_selector, requirements: machine.hardware_requirements })
    }

    /// How to ask for a kind; found out once.
    async fn kind(&self, named: &ContractReference) -> Result<ApiResource, Unread> {
        let key = (named.api_group.clone(), named.kind.clone());
        let known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let group = match discovery::group(&self.client, &named.api_group).await {
            Ok(group) => group,
            Err(kube::Error::Discovery(DiscoveryError::MissingApiGroup(_))) => {
                return Err(Unread::UnknownKind);
            }
            Err(error) => return Err(unread(&error)),
        };
        let kinds = group.resources_by_stability();
        let found = kinds.into_iter().map(|(kind, _)| kind).find(|kind| kind.kind == named.kind);
        let found = found.ok_or(Unread::UnknownKind)?;
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
        Ok(found)
    }

    fn forget(&self, named: &ContractReference) {
        let key = (named.api_group.clone(), named.kind.clone());
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}

fn unread(error: &kube::Error) -> Unread {
    let is_forbidden = matches!(error, kube::Error::Api(refusal) if refusal.is_forbidden());
    if is_forbidden { Unread::Forbidden } else { Unread::Failed(causes(error)) }
}

fn replicas(control_plane: &Value) -> Option<i64> {
    control_plane.pointer("/spec/replicas")?.as_i64()
}

/// Control planes that run elsewhere have no machines to take an endpoint from; they tell it themselves.
fn brings_endpoint(control_plane: &Value) -> bool {
    let external = control_plane.pointer("/status/externalManagedControlPlane");
    let host = control_plane.pointer("/spec/controlPlaneEndpoint/host").and_then(Value::as_str);
    external.and_then(Value::as_bool) == Some(true) || host.is_some_and(|host| !host.is_empty())
}

/// The name of the template of its machines, where that is ours.
fn template(control_plane: &Value) -> Option<&str> {
    let named = TEMPLATE_AT.iter().find_map(|path| control_plane.pointer(path))?;
    let text = |key: &str| named.get(key).and_then(Value::as_str);
    let group = text("apiGroup").or_else(|| text("apiVersion")?.split('/').next())?;
    text("name").filter(|_| group == GROUP && text("kind") == Some(TEMPLATE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_control_plane_wants_is_read_where_the_contract_puts_it() {
        let own = json!({"apiGroup": GROUP, "kind": TEMPLATE, "name": "t"});
        let old = json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": TEMPLATE, "name": "t"});
        let other = json!({"apiGroup": "other.example.org", "kind": TEMPLATE, "name": "t"});
        let another = json!({"apiGroup": GROUP, "kind": "OtherTemplate", "name": "t"});
        for (spec, expected) in [
            (json!({"machineTemplate": {"spec": {"infrastructureRef": own}}}), Some("t")),
            (json!({"machineTemplate": {"infrastructureRef": old}}), Some("t")),
            (json!({"machineTemplate": {"spec": {"infrastructureRef": other}}}), None),
            (json!({"machineTemplate": {"spec": {"infrastructureRef": another}}}), None),
            (json!({"machineTemplate": {}}), None),
            (json!({}), None),
        ] {
            assert_eq!(template(&json!({"spec": spec.clone()})), expected, "{spec}");
        }
        assert_eq!(replicas(&json!({"spec": {"replicas": 3}})), Some(3));
        assert_eq!(replicas(&json!({"spec": {}})), None);
        for (object, expected) in [
            (json!({"spec": {"replicas": 1}}), false),
            (json!({"spec": {"controlPlaneEndpoint": {"host": "", "port": 0}}}), false),
            (json!({"spec": {"controlPlaneEndpoint": {"host": "api.example.org"}}}), true),
            (json!({"status": {"externalManagedControlPlane": true}}), true),
            (json!({"status": {"externalManagedControlPlane": false}}), false),
        ] {
            assert_eq!(brings_endpoint(&object), expected, "{object}");
        }
    }
}
