//! Carries out the claim engine's steps: each one write, at the version that was looked at.

use beskar7_api::{PhysicalHost, annotations, boot::Cleaning, physical_host::HostBoot};
use beskar7_core::{
    claim::{
        Candidate, ClaimId, Instructions, Intent,
        moving::{self, Block},
        told_to_boot,
    },
    host::{
        cleaning::{self, demanded_by_policy},
        hold::power_is_the_claims,
        moving::{block as block_host, block_for},
    },
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    claimant::{Claimant, block, consumer, intent},
    error::{ClaimError, read, write},
};
use crate::{
    watch::Key,
    write::{Writable, Written, merge},
};

/// What is written onto a host that is bound, beside whose it is.
#[derive(Debug, Default)]
pub(crate) struct Binding {
    /// What it is told to be.
    pub(crate) instructions: Option<Instructions>,
    /// For whom it is held, for the next choice.
    pub(crate) owner: Option<String>,
    /// The policy under which another namespace has it.
    pub(crate) policy: Option<String>,
    /// The cleaning that is demanded behind the claim.
    pub(crate) cleaning: Cleaning,
    /// Whether the host was free: nothing was turned on there for this claim.
    pub(crate) is_new: bool,
}

/// Reads and writes for claims.
#[derive(Clone)]
pub(crate) struct Writes {
    client: Client,
    /// The only namespace that is looked into, where there is one.
    namespace: Option<String>,
}

impl Writes {
    pub(crate) fn new(client: Client, namespace: Option<String>) -> Self {
        Self { client, namespace }
    }

    fn hosts(&self, namespace: &str) -> Api<PhysicalHost> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The host as the API server has it.
    pub(crate) async fn host(&self, (namespace, name): &Key) -> Result<Option<PhysicalHost>, ClaimError> {
        self.hosts(namespace).get_opt(name).await.map_err(read)
    }

    /// The consumer as the API server has it.
    pub(crate) async fn consumer<K: Claimant>(
        &self,
        (namespace, name): &Key,
    ) -> Result<Option<K>, ClaimError> {
        Api::namespaced(self.client.clone(), namespace).get_opt(name).await.map_err(read)
    }

    /// The hosts that name a consumer, as the API server has them.
    pub(crate) async fn referring(&self, name: &str) -> Result<Vec<PhysicalHost>, ClaimError> {
        let named = ListParams::default().fields(&format!("spec.consumerRef.name={name}"));
        let hosts = match &self.namespace {
            Some(namespace) => self.hosts(namespace),
            None => Api::all(self.client.clone()),
        };
        Ok(hosts.list(&named).await.map_err(read)?.items)
    }

    /// The intent and our finalizer, in one patch.
    pub(crate) async fn write_intent<K: Claimant>(
        &self,
        object: &K,
        intent: &Intent,
    ) -> Result<Written<K>, ClaimError> {
        let mut annotations = json!({ annotations::CLAIM: intent.to_string() });
        block_consumer(&mut annotations, object, Some(intent));
        let mut metadata = json!({ "annotations": annotations });
        let all = object.finalizers();
        if object.meta().deletion_timestamp.is_none() && !all.iter().any(|name| name == K::FINALIZER) {
            let all: Vec<&str> = all.iter().map(String::as_str).chain([K::FINALIZER]).collect();
            add(&mut metadata, "finalizers", json!(all));
        }
        self.merge(object, json!({ "metadata": metadata })).await
    }

    /// The intent to take a new claim on the same host. That its machine was installed is not so any more.
    pub(crate) async fn renew_intent<K: Claimant>(
        &self,
        object: &K,
        intent: &Intent,
    ) -> Result<Written<K>, ClaimError> {
        let mut annotations = json!({
            annotations::CLAIM: intent.to_string(),
            annotations::PROVISIONED: null,
            annotations::RESTART: null,
        });
        block_consumer(&mut annotations, object, Some(intent));
        self.merge(object, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// The intent is dropped.
    pub(crate) async fn drop_intent<K: Claimant>(&self, object: &K) -> Result<Written<K>, ClaimError> {
        let mut annotations = json!({ annotations::CLAIM: null });
        block_consumer(&mut annotations, object, None);
        self.merge(object, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// `clusterctl move` is told whether it may take the consumer along, that holds its host since before it was told.
    pub(crate) async fn write_block<K: Claimant>(&self, object: &K) -> Result<Written<K>, ClaimError> {
        let mut annotations = json!({});
        block_consumer(&mut annotations, object, intent(object).as_ref());
        self.merge(object, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// The intent and our finalizer are dropped: the consumer may go.
    pub(crate) async fn let_go<K: Claimant>(&self, object: &K) -> Result<Written<K>, ClaimError> {
        let rest: Vec<&String> = object.finalizers().iter().filter(|name| *name != K::FINALIZER).collect();
        let mut annotations = json!({ annotations::CLAIM: null });
        block_consumer(&mut annotations, object, None);
        self.merge(object, json!({ "metadata": { "annotations": annotations, "finalizers": rest } })).await
    }

    /// The host is the consumer's, and is to be what that wants.
    pub(crate) async fn bind<K: Claimant>(
        &self,
        host: &PhysicalHost,
        object: &K,
        claim: &ClaimId,
        terms: &Binding,
    ) -> Result<Written<PhysicalHost>, ClaimError> {
        let wanted = terms.instructions.as_ref();
        let reference = consumer(object, false).identity.reference();
        let mut spec = json!({ "consumerRef": reference, "claimID": claim.as_str() });
        if let Some(wanted) = wanted {
            add(&mut spec, "bootIsoSource", json!(wanted.boot_iso_source));
            add(&mut spec, "boot", whole(wanted.boot.as_ref()));
            if let Some(online) = wanted.online {
                add(&mut spec, "online", json!(online));
            }
        }
        let mut annotations = json!({ annotations::LAST_OWNER: terms.owner });
        // The policy that a host was taken under says what becomes of it when none allows it any more.
        if terms.is_new || terms.policy.is_some() {
            add(&mut annotations, annotations::POLICY, json!(terms.policy));
        }
        if terms.is_new {
            add(&mut annotations, annotations::UNUSED, json!(claim.as_str()));
        }
        if object.is_settled() {
            // It runs, whatever was taken off: what runs is not installed again.
            add(&mut annotations, annotations::PROVISIONED, json!(claim.as_str()));
        }
        if let Some(wanted) = wanted {
            add(&mut annotations, annotations::IMAGE, image_of(claim.as_str(), wanted));
        }
        if let Some(demanded) = more_cleaning(host, terms.cleaning) {
            add(&mut annotations, annotations::CLEANING, demanded);
        }
        // What only waits may be moved.
        let is_to_boot = wanted.is_some_and(|wanted| wanted.boot.is_some());
        if let Some(why) = block_for(host, claim.as_str()).filter(|_| is_to_boot) {
            add(&mut annotations, annotations::BLOCK_MOVE, json!(why));
        }
        self.merge(host, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    /// At least this cleaning is demanded behind the claim that holds a host.
    pub(crate) async fn demand_cleaning(
        &self,
        host: &PhysicalHost,
        demanded: Cleaning,
    ) -> Result<Written<PhysicalHost>, ClaimError> {
        let annotations = json!({ annotations::CLEANING: cleaning::word(demanded) });
        self.merge(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// The host is told something else by the consumer that holds it.
    pub(crate) async fn instruct(
        &self,
        host: &PhysicalHost,
        wanted: &Instructions,
    ) -> Result<Written<PhysicalHost>, ClaimError> {
        let Instructions { boot_iso_source, boot, online, image } = wanted;
        let spec =
            json!({ "bootIsoSource": boot_iso_source, "boot": whole(boot.as_ref()), "online": online });
        let id = host.spec.claim_id.as_deref().unwrap_or_default();
        let mut annotations = json!({ annotations::IMAGE: image_of(id, wanted) });
        let block = host.spec.claim_id.as_deref().and_then(|claim| block_for(host, claim));
        if let Some(why) = block.filter(|_| image.is_some() && told_to_boot(host).is_none()) {
            add(&mut annotations, annotations::BLOCK_MOVE, json!(why));
        }
        self.merge(host, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    /// The host is released: its claim ends when it is clean.
    pub(crate) async fn release(
        &self,
        host: &PhysicalHost,
        claim: &ClaimId,
        demanded: Cleaning,
    ) -> Result<Written<PhysicalHost>, ClaimError> {
        let mut annotations = json!({ annotations::RELEASE: claim.as_str() });
        if let Some(demanded) = more_cleaning(host, demanded) {
            add(&mut annotations, annotations::CLEANING, demanded);
        }
        if let Some(why) = block_host(host) {
            add(&mut annotations, annotations::BLOCK_MOVE, json!(why));
        }
        let mut spec = json!({ "consumerRef": null, "bootIsoSource": null, "boot": null });
        if power_is_the_claims(host) {
            add(&mut spec, "online", Value::Null);
        }
        self.merge(host, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    /// Another host, if it is still held under this claim.
    pub(crate) async fn release_stray(&self, key: &Key, claim: &ClaimId) -> Result<(), ClaimError> {
        let Some(host) = self.host(key).await? else { return Ok(()) };
        if Candidate::new(&host).claim.claim_id == Some(claim.as_str()) {
            // Lost to somebody else: it is looked at again.
            let _written = self.release(&host, claim, Cleaning::None).await?;
        }
        Ok(())
    }

    /// Moves the host's version on, so that every older decision about it fails.
    pub(crate) async fn fence(
        &self,
        (namespace, name): &Key,
        claim: &ClaimId,
    ) -> Result<Option<PhysicalHost>, ClaimError> {
        let fence = json!({ "metadata": { "annotations": { annotations::FENCE: claim.as_str() } } });
        match self.hosts(namespace).patch(name, &PatchParams::default(), &Patch::Merge(&fence)).await {
            Ok(host) => Ok(Some(host)),
            Err(kube::Error::Api(refusal)) if refusal.is_not_found() => Ok(None),
            Err(error) => Err(write(error)),
        }
    }

    /// Changes an object, at the version that was looked at.
    pub(crate) async fn merge<K: Writable>(
        &self,
        object: &K,
        change: Value,
    ) -> Result<Written<K>, ClaimError> {
        merge(&self.client, object, change).await.map_err(write)
    }
}

/// What is written into the annotation that keeps a consumer from being moved, with this intent or none.
fn block_consumer<K: Claimant>(annotations: &mut Value, object: &K, intent: Option<&Intent>) {
    match block(object, intent) {
        Block::Write => add(annotations, annotations::BLOCK_MOVE, json!(moving::BLOCKED)),
        Block::Remove => add(annotations, annotations::BLOCK_MOVE, Value::Null),
        Block::Leave => {}
    }
}

/// All of what is wanted of a boot: in a merge patch, what is not named would stay as it was.
fn whole(boot: Option<&HostBoot>) -> Value {
    let mut boot = json!(boot);
    if let Some(fields) = boot.as_object_mut() {
        for name in ["kernel", "initramfs", "image", "kernelArgs", "configVolume", "configurationRef"] {
            fields.entry(name).or_insert(Value::Null);
        }
    }
    boot
}

/// The image that a host is told to boot for a claim, as it is written down.
fn image_of(claim: &str, wanted: &Instructions) -> Value {
    json!(wanted.image.as_ref().map(|image| image.written(claim)))
}

/// The cleaning that is demanded, where that is more than is written on a host. It is never less: the policy may be gone
/// when the host is given back.
fn more_cleaning(host: &PhysicalHost, demanded: Cleaning) -> Option<Value> {
    (demanded > demanded_by_policy(host)).then(|| json!(cleaning::word(demanded)))
}

fn add(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
