//! Carries out the claim engine's steps: each one write, at the version that was looked at.

use beskar7_api::{Beskar7Machine, GROUP, PhysicalHost, VERSION, annotations, finalizers};
use beskar7_core::{
    claim::{Candidate, ClaimId, Consumer, Identity, Intent},
    host::{
        heard::{Heard, Word},
        moving::{block, block_for},
    },
    machine::Order,
};
use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    KIND,
    error::{ReconcileError, read, write},
};
use crate::{
    watch::Key,
    write::{Written, merge},
};

/// API group and version of our kinds.
const API_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// A machine as the claim engine looks at it.
pub(super) fn consumer(machine: &Beskar7Machine, on_hold: bool) -> Consumer<'_> {
    debug_assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
    let metadata = &machine.metadata;
    let annotation = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
    Consumer {
        identity: Identity {
            api_version: API_VERSION,
            kind: KIND,
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
            uid: metadata.uid.as_deref().unwrap_or_default(),
        },
        intent: annotation(annotations::CLAIM).map(String::as_str),
        finalizer: machine.finalizers().iter().any(|name| name == finalizers::MACHINE),
        deleting: metadata.deletion_timestamp.is_some(),
        on_hold,
        settled: machine.spec.provider_id.is_some(),
        forced: annotation(annotations::FORCE_RELEASE).is_some(),
    }
}

/// Reads and writes for claims.
pub(super) struct Claims {
    client: Client,
}

impl Claims {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    fn hosts(&self, namespace: &str) -> Api<PhysicalHost> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The host as the API server has it.
    pub(super) async fn host(&self, (namespace, name): &Key) -> Result<Option<PhysicalHost>, ReconcileError> {
        self.hosts(namespace).get_opt(name).await.map_err(read)
    }

    /// The machine as the API server has it.
    pub(super) async fn machine(
        &self,
        (namespace, name): &Key,
    ) -> Result<Option<Beskar7Machine>, ReconcileError> {
        Api::namespaced(self.client.clone(), namespace).get_opt(name).await.map_err(read)
    }

    /// The hosts that name a machine, as the API server has them. Hosts are in its own namespace.
    pub(super) async fn referring(
        &self,
        (namespace, name): &Key,
    ) -> Result<Vec<PhysicalHost>, ReconcileError> {
        let named = ListParams::default().fields(&format!("spec.consumerRef.name={name}"));
        Ok(self.hosts(namespace).list(&named).await.map_err(read)?.items)
    }

    /// The intent and our finalizer, in one patch.
    pub(super) async fn write_intent(
        &self,
        machine: &Beskar7Machine,
        intent: &Intent,
    ) -> Result<Written<Beskar7Machine>, ReconcileError> {
        let mut metadata = json!({ "annotations": { annotations::CLAIM: intent.to_string() } });
        let all = machine.finalizers();
        if machine.metadata.deletion_timestamp.is_none()
            && !all.iter().any(|name| name == finalizers::MACHINE)
        {
            let all: Vec<&str> = all.iter().map(String::as_str).chain([finalizers::MACHINE]).collect();
            add(&mut metadata, "finalizers", json!(all));
        }
        self.merge(machine, json!({ "metadata": metadata })).await
    }

    /// The intent is dropped.
    pub(super) async fn drop_intent(
        &self,
        machine: &Beskar7Machine,
    ) -> Result<Written<Beskar7Machine>, ReconcileError> {
        self.merge(machine, json!({ "metadata": { "annotations": { annotations::CLAIM: null } } })).await
    }

    /// The intent and our finalizer are dropped: the machine may go.
    pub(super) async fn let_go(
        &self,
        machine: &Beskar7Machine,
    ) -> Result<Written<Beskar7Machine>, ReconcileError> {
        let rest: Vec<&String> =
            machine.finalizers().iter().filter(|name| *name != finalizers::MACHINE).collect();
        let annotations = json!({ annotations::CLAIM: null });
        self.merge(machine, json!({ "metadata": { "annotations": annotations, "finalizers": rest } })).await
    }

    /// The machine's identity.
    pub(super) async fn identify(
        &self,
        machine: &Beskar7Machine,
        provider_id: &str,
    ) -> Result<Written<Beskar7Machine>, ReconcileError> {
        self.merge(machine, json!({ "spec": { "providerID": provider_id } })).await
    }

    /// The host is the machine's, and boots what it wants.
    pub(super) async fn bind(
        &self,
        host: &PhysicalHost,
        machine: &Beskar7Machine,
        claim: &ClaimId,
        order: Option<&Order>,
        owner: Option<&str>,
    ) -> Result<Written<PhysicalHost>, ReconcileError> {
        let reference = consumer(machine, false).identity.reference();
        let mut spec = json!({ "consumerRef": reference, "claimID": claim.as_str() });
        if let Some(order) = order {
            add(&mut spec, "bootIsoSource", json!(order.boot_iso_source));
            add(&mut spec, "boot", json!(order.boot));
        }
        let mut annotations = json!({ annotations::LAST_OWNER: owner });
        if let Some(why) = block_for(host, claim.as_str()).filter(|_| order.is_some()) {
            add(&mut annotations, annotations::BLOCK_MOVE, json!(why));
        }
        self.merge(host, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    /// The host is released: its claim ends when it is clean.
    pub(super) async fn release(
        &self,
        host: &PhysicalHost,
        claim: &ClaimId,
    ) -> Result<Written<PhysicalHost>, ReconcileError> {
        let mut annotations = json!({ annotations::RELEASE: claim.as_str() });
        if let Some(why) = block(host) {
            add(&mut annotations, annotations::BLOCK_MOVE, json!(why));
        }
        let spec = json!({ "consumerRef": null, "bootIsoSource": null, "boot": null });
        self.merge(host, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    /// The machine's Node was heard of while its host boots.
    pub(super) async fn heard_node(
        &self,
        host: &PhysicalHost,
        claim: &str,
        now: Timestamp,
    ) -> Result<Written<PhysicalHost>, ReconcileError> {
        let heard = Heard::of(host, claim).with(Word::Node, now);
        let annotations = json!({ annotations::HEARD: heard.to_string() });
        self.merge(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// Another host, if it is still held under this claim.
    pub(super) async fn release_stray(&self, key: &Key, claim: &ClaimId) -> Result<(), ReconcileError> {
        let Some(host) = self.host(key).await? else { return Ok(()) };
        if Candidate::new(&host).claim.claim_id == Some(claim.as_str()) {
            // Lost to somebody else: it is looked at again.
            let _written = self.release(&host, claim).await?;
        }
        Ok(())
    }

    /// Moves the host's version on, so that every older decision about it fails.
    pub(super) async fn fence(
        &self,
        (namespace, name): &Key,
        claim: &ClaimId,
    ) -> Result<Option<PhysicalHost>, ReconcileError> {
        let fence = json!({ "metadata": { "annotations": { annotations::FENCE: claim.as_str() } } });
        match self.hosts(namespace).patch(name, &PatchParams::default(), &Patch::Merge(&fence)).await {
            Ok(host) => Ok(Some(host)),
            Err(kube::Error::Api(refusal)) if refusal.is_not_found() => Ok(None),
            Err(error) => Err(write(error)),
        }
    }

    async fn merge<K: crate::write::Writable>(
        &self,
        object: &K,
        change: Value,
    ) -> Result<Written<K>, ReconcileError> {
        merge(&self.client, object, change).await.map_err(write)
    }
}

fn add(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
