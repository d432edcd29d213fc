//! The bare client: the least that leads to the same as the manager's work.
//!
//! It knows beforehand what the manager has to find out: which host there is, where everything is, which machine gets
//! which host. It reads nothing from the API server, and writes what it has seen a manager write.

use std::sync::Arc;

use anyhow::{Context, Result};
use beskar7_api::{Beskar7Machine, PhysicalHost, finalizers};
use beskar7_redfish_bench::bare::{client, identify};
use http::header::{HeaderValue, USER_AGENT};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Api, Client, Config, Resource, ResourceExt as _};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::place::{Host, Place};
use crate::manager::{NAMESPACE, SERVICE_ACCOUNT};

/// How the audit log tells it from others.
pub(super) const AGENT: &str = "beskar7-bench-bare";

/// As many as the manager works on at once, by its defaults.
pub(super) const HOSTS_AT_ONCE: usize = 500;
pub(super) const MACHINES_AT_ONCE: usize = 50;
/// As many requests as the manager has under way at the API server.
const REQUESTS_AT_ONCE: usize = 64;

/// What a manager wrote, to be written again.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    /// The status of a host that is Available.
    available: Value,
    /// A host that is claimed, and the machine that holds it.
    host: PhysicalHost,
    machine: Beskar7Machine,
    /// What people are told.
    event: Event,
}

impl Samples {
    /// From a namespace in which a manager has bound machines.
    pub(super) async fn learn(client: &Client, namespace: &str, available: Value) -> Result<Self> {
        let hosts: Api<PhysicalHost> = Api::namespaced(client.clone(), namespace);
        let all = hosts.list(&ListParams::default()).await?.items;
        let bound = all.into_iter().find_map(|host| {
            let consumer = host.spec.consumer_ref.as_ref()?.name.clone()?;
            Some((host, consumer))
        });
        let (host, consumer) = bound.context("no host is claimed")?;
        let machine = Api::namespaced(client.clone(), namespace).get(&consumer).await?;
        let events: Api<Event> = Api::namespaced(client.clone(), namespace);
        let mut events = events.list(&ListParams::default()).await?.items;
        let event = events.pop().context("nobody was told anything")?;
        Ok(Self { available, host, machine, event })
    }
}

/// The bare client.
pub(super) struct Bare {
    namespace: String,
    api: Client,
    bmcs: reqwest::Client,
    samples: Samples,
    hosts: Semaphore,
    machines: Semaphore,
    requests: Semaphore,
}

impl Bare {
    /// With the manager's rights, and connections of its own.
    pub(super) async fn new(place: &Place, namespace: &str, samples: &Samples) -> Result<Arc<Self>> {
        let kubeconfig = place.plane.kubeconfig_for_service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
        Ok(Arc::new(Self {
            namespace: namespace.to_owned(),
            api: Client::try_from(config)?,
            bmcs: client(&place.simulator)?,
            samples: samples.clone(),
            hosts: Semaphore::new(HOSTS_AT_ONCE),
            machines: Semaphore::new(MACHINES_AT_ONCE),
            requests: Semaphore::new(REQUESTS_AT_ONCE),
        }))
    }

    /// Enrols hosts as they are created, until no more are.
    pub(super) async fn enrol_all(self: Arc<Self>, mut created: UnboundedReceiver<Host>) -> Result<()> {
        let mut all = JoinSet::new();
        while let Some(host) = created.recv().await {
            let bare = Arc::clone(&self);
            all.spawn(async move { bare.enrol(&host).await });
        }
        until_done(all).await
    }

    /// Binds machines to hosts as they are created, until no more are.
    pub(super) async fn claim_all(
        self: Arc<Self>,
        mut created: UnboundedReceiver<(String, Host)>,
    ) -> Result<()> {
        let mut all = JoinSet::new();
        while let Some((machine, host)) = created.recv().await {
            let bare = Arc::clone(&self);
            all.spawn(async move { bare.claim(&machine, &host).await });
        }
        until_done(all).await
    }

    async fn enrol(&self, host: &Host) -> Result<()> {
        let _turn = self.hosts.acquire().await?;
        let finalizers = json!({"metadata": {"finalizers": [finalizers::PHYSICAL_HOST]}});
        self.patch::<PhysicalHost>(&host.name, &finalizers).await?;
        identify(&self.bmcs, &host.url).await?;
        self.patch_status::<PhysicalHost>(&host.name, &self.samples.available).await?;
        self.tell(&host.name).await
    }

    async fn claim(&self, machine: &str, host: &Host) -> Result<()> {
        let turn = self.machines.acquire().await?;
        let sample = &self.samples.machine.metadata;
        let intent =
            json!({"metadata": {"annotations": sample.annotations, "finalizers": sample.finalizers}});
        self.patch::<Beskar7Machine>(machine, &intent).await?;
        let sample = &self.samples.host;
        let mut consumer = sample.spec.consumer_ref.clone().unwrap_or_default();
        consumer.name = Some(machine.to_owned());
        let spec = json!({
            "consumerRef": consumer, "claimID": sample.spec.claim_id,
            "bootIsoSource": sample.spec.boot_iso_source, "boot": sample.spec.boot,
        });
        let bind = json!({"metadata": {"annotations": sample.annotations()}, "spec": spec});
        self.patch::<PhysicalHost>(&host.name, &bind).await?;
        // From here on, the manager's two controllers work side by side.
        tokio::try_join!(self.tell_of_claim(turn, machine), self.tell_of_hold(&host.name))?;
        Ok(())
    }

    async fn tell_of_claim(&self, turn: tokio::sync::SemaphorePermit<'_>, machine: &str) -> Result<()> {
        let status = serde_json::to_value(&self.samples.machine.status)?;
        self.patch_status::<Beskar7Machine>(machine, &status).await?;
        self.tell(machine).await?;
        drop(turn);
        Ok(())
    }

    async fn tell_of_hold(&self, host: &str) -> Result<()> {
        let _turn = self.hosts.acquire().await?;
        let status = serde_json::to_value(&self.samples.host.status)?;
        self.patch_status::<PhysicalHost>(host, &changed(&self.samples.available, status)).await?;
        self.tell(host).await
    }

    async fn patch<K: Resource<DynamicType = ()>>(&self, name: &str, change: &Value) -> Result<()> {
        let request = Request::new(K::url_path(&(), Some(&self.namespace)));
        let request = request.patch(name, &PatchParams::default(), &Patch::Merge(change))?;
        self.send(request).await.with_context(|| format!("writing to {name}"))
    }

    async fn patch_status<K: Resource<DynamicType = ()>>(&self, name: &str, status: &Value) -> Result<()> {
        let request = Request::new(K::url_path(&(), Some(&self.namespace)));
        let change = json!({ "status": status });
        let change = Patch::Merge(&change);
        let request = request.patch_subresource("status", name, &PatchParams::default(), &change)?;
        self.send(request).await.with_context(|| format!("writing the status of {name}"))
    }

    async fn tell(&self, name: &str) -> Result<()> {
        let mut event = self.samples.event.clone();
        event.metadata = kube::core::ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: Some(self.namespace.clone()),
            ..kube::core::ObjectMeta::default()
        };
        if let Some(about) = &mut event.regarding {
            about.name = Some(name.to_owned());
            about.namespace = Some(self.namespace.clone());
        }
        let request = Request::new(Event::url_path(&(), Some(&self.namespace)));
        let request = request.create(&PostParams::default(), serde_json::to_vec(&event)?)?;
        self.send(request).await.with_context(|| format!("telling of {name}"))
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<()> {
        let _turn = self.requests.acquire().await?;
        // The answer is read, and not looked at.
        self.api.request_text(request).await?;
        Ok(())
    }
}

async fn until_done(mut all: JoinSet<Result<()>>) -> Result<()> {
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok(())
}

/// The fields that differ: no more than the manager sends.
fn changed(before: &Value, after: Value) -> Value {
    let Value::Object(after) = after else { return Value::Null };
    let differs = |(key, value): &(String, Value)| before.get(key) != Some(value);
    Value::Object(after.into_iter().filter(differs).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written() {
        let before = json!({"state": "Available", "ready": true, "details": {"model": "x"}});
        let after = json!({"state": "Claimed", "ready": true, "details": {"model": "x"}, "claimID": "c"});
        assert_eq!(changed(&before, after), json!({"state": "Claimed", "claimID": "c"}));
    }
}
