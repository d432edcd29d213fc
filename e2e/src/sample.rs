//! A cluster by a template of the release, but for what machines without kubelets can't do.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::cluster_api::ClusterApi;
use crate::control_plane::ControlPlane;
use crate::tools::Tool;
use crate::workload::Workload;

/// How machines get their configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configuration {
    /// Not at all: their ISO needs none.
    InImage,
    /// As the template has it: our boot server gives them their Machines' bootstrap data, and that has their names and
    /// identities from our metadata.
    Delivered,
}

/// A cluster to try things out with. Its etcd is external, because a kubeadm control plane reaches a managed one through
/// kubelets.
#[derive(Debug, Clone)]
pub struct SampleCluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it and its hosts are.
    pub namespace: &'a str,
    /// How many control-plane machines.
    pub control_plane: u32,
    /// How many workers.
    pub workers: u32,
    /// The loopback port of its endpoint, if one is given.
    pub port: Option<u16>,
    /// The ISO.
    pub image: &'a str,
    /// How machines get their configuration.
    pub configuration: Configuration,
    /// The flavour of the template; the default one is called "".
    pub flavor: &'a str,
    /// Further variables of the template.
    pub variables: &'a [(&'a str, &'a str)],
}

impl SampleCluster<'_> {
    /// Generates it with clusterctl and applies it.
    pub async fn apply(
        &self,
        plane: &ControlPlane,
        cluster_api: &ClusterApi,
        workload: &Workload,
    ) -> Result<()> {
        let objects = self.generate(cluster_api).await?;
        let etcd = workload.external_etcd(self.namespace, self.name).await?;
        let mut items = Vec::new();
        for document in objects.split("\n---\n") {
            let mut object: Value = serde_saphyr::from_str(document).context("what clusterctl wrote")?;
            match object.pointer("/kind").and_then(Value::as_str) {
                Some(kind @ ("KubeadmControlPlane" | "KubeadmControlPlaneTemplate")) => {
                    let at = match kind {
                        "KubeadmControlPlane" => "/spec/kubeadmConfigSpec",
                        _ => "/spec/template/spec/kubeadmConfigSpec",
                    };
                    set(&mut object, at, "clusterConfiguration", json!({ "etcd": etcd }));
                    self.register(&mut object, at);
                }
                Some("KubeadmConfigTemplate") => self.register(&mut object, "/spec/template/spec"),
                Some("Beskar7MachineTemplate") if self.configuration == Configuration::InImage => {
                    set(&mut object, "/spec/template/spec", "provisioningMode", json!("PreBakedISO"));
                }
                Some(_) | None => {}
            }
            items.push(object);
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        plane.kubectl_with_input(&["apply", "-f", "-"], &list).await?.success()?;
        Ok(())
    }

    /// Nodes have the names and identities that our metadata tells their machines.
    fn register(&self, object: &mut Value, at: &str) {
        if self.configuration == Configuration::InImage {
            return;
        }
        let registration = json!({"nodeRegistration": {
            "name": "{{ ds.meta_data.local_hostname }}",
            "kubeletExtraArgs": [{"name": "provider-id", "value": "{{ ds.meta_data.provider_id }}"}],
        }});
        set(object, at, "initConfiguration", registration.clone());
        set(object, at, "joinConfiguration", registration);
    }

    async fn generate(&self, cluster_api: &ClusterApi) -> Result<String> {
        let release = format!("beskar7:{}", cluster_api.infrastructure().version);
        let (control_plane, workers) = (self.control_plane.to_string(), self.workers.to_string());
        let arguments = [
            ["generate", "cluster"].as_slice(),
            &[self.name, "--infrastructure", &release, "--target-namespace", self.namespace],
            &["--kubernetes-version", Tool::KubeApiserver.version()?],
            &["--control-plane-machine-count", &control_plane, "--worker-machine-count", &workers],
        ];
        let mut arguments = arguments.concat();
        if !self.flavor.is_empty() {
            arguments.extend(["--flavor", self.flavor]);
        }
        let port = self.port.map(|port| port.to_string());
        let mut variables = vec![("BESKAR7_IMAGE_URL", self.image)];
        if self.configuration == Configuration::InImage {
            variables.push(("BESKAR7_PROVISIONING_MODE", "PreBakedISO"));
        }
        if let Some(port) = &port {
            variables
                .extend([("CONTROL_PLANE_ENDPOINT_IP", "127.0.0.1"), ("CONTROL_PLANE_ENDPOINT_PORT", port)]);
        }
        variables.extend(self.variables);
        cluster_api.clusterctl_with(&arguments, &variables).await?.success()
    }
}

fn set(object: &mut Value, at: &str, name: &str, value: Value) {
    if let Some(place) = object.pointer_mut(at).and_then(Value::as_object_mut) {
        place.insert(name.to_owned(), value);
    }
}
