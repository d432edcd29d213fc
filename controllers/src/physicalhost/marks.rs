//! What is written into a host beside its status: marks, the end of a claim, the finalizer. Each write names the version
//! that it was decided on, so that a stale view loses.

use beskar7_api::{PhysicalHost, annotations, finalizers};
use beskar7_core::host::{
    discovery::keeps_last_word,
    errand::Errand,
    hold::{Booting, power_is_the_claims},
    moving::{block, may_unblock},
    restart::Restart,
};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::ReconcileError;
use crate::write::{self, merge};

/// What became of a write to a host.
pub(super) type Written = write::Written<PhysicalHost>;

/// Writes to hosts.
pub(super) struct Marks {
    client: Client,
}

impl Marks {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Its machine is about to be turned on. What was heard of an earlier boot does not count any more.
    pub(super) async fn armed(
        &self,
        host: &PhysicalHost,
        booting: &Booting,
    ) -> Result<Written, ReconcileError> {
        let mut annotations = json!({
            annotations::BOOTING: booting.to_string(), annotations::HEARD: null, annotations::UNUSED: null,
            annotations::AGENT: null, annotations::ERRAND: null,
        });
        block_move(&mut annotations, host);
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// More is known of the machine that was turned on.
    pub(super) async fn booting(
        &self,
        host: &PhysicalHost,
        booting: &Booting,
    ) -> Result<Written, ReconcileError> {
        let mut annotations = json!({ annotations::BOOTING: booting.to_string() });
        block_move(&mut annotations, host);
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// The agent is wanted on its machine, or about to be started there. What it said before does not count any more.
    pub(super) async fn errand(
        &self,
        host: &PhysicalHost,
        errand: &Errand,
    ) -> Result<Written, ReconcileError> {
        let mut annotations = json!({ annotations::ERRAND: errand.to_string(), annotations::AGENT: null });
        block_move(&mut annotations, host);
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// The machine of its errand was seen to have power.
    pub(super) async fn on_errand(
        &self,
        host: &PhysicalHost,
        errand: &Errand,
    ) -> Result<Written, ReconcileError> {
        let annotations = json!({ annotations::ERRAND: errand.to_string() });
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// Its errand is over. What the agent said goes with it, but where that is all that is known.
    pub(super) async fn end_errand(&self, host: &PhysicalHost) -> Result<Written, ReconcileError> {
        let mut annotations = match keeps_last_word(host) {
            true => json!({ annotations::ERRAND: null }),
            false => json!({ annotations::ERRAND: null, annotations::AGENT: null }),
        };
        unblock_move(&mut annotations, host);
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// Something is about to be done to its machine.
    pub(super) async fn block_move(&self, host: &PhysicalHost) -> Result<Written, ReconcileError> {
        let mut annotations = json!({});
        block_move(&mut annotations, host);
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// Its boot was seen.
    pub(super) async fn provisioned(
        &self,
        host: &PhysicalHost,
        claim: &str,
    ) -> Result<Written, ReconcileError> {
        let mut annotations = json!({
            annotations::PROVISIONED: claim, annotations::BOOTING: null, annotations::HEARD: null,
            annotations::AGENT: null,
        });
        unblock_move(&mut annotations, host);
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// This restart was made.
    pub(super) async fn restarted(
        &self,
        host: &PhysicalHost,
        restart: &Restart,
    ) -> Result<Written, ReconcileError> {
        let annotations = json!({ annotations::RESTARTED: restart.token });
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// Its claim is over, and all that was written about it. The fence makes every older decision about it fail.
    pub(super) async fn free(&self, host: &PhysicalHost) -> Result<Written, ReconcileError> {
        let mut annotations = json!({
            annotations::PROVISIONED: null, annotations::BOOTING: null, annotations::HEARD: null,
            annotations::RELEASE: null, annotations::RESTART: null, annotations::RESTARTED: null,
            annotations::POLICY: null, annotations::COPIES: null, annotations::IMAGE: null,
            annotations::CLEANING: null, annotations::CLEANED: null, annotations::UNUSED: null,
            annotations::AGENT: null, annotations::ERRAND: null,
        });
        let of_machine = host.status.as_ref().and_then(|status| status.claim_id.as_ref());
        if let (Some(ended), Some(all)) =
            (host.spec.claim_id.as_ref().or(of_machine), annotations.as_object_mut())
        {
            all.insert(annotations::FENCE.to_owned(), json!(ended));
        }
        unblock_move(&mut annotations, host);
        let mut spec = json!({ "claimID": null, "consumerRef": null, "bootIsoSource": null, "boot": null });
        if let (true, Some(spec)) = (power_is_the_claims(host), spec.as_object_mut()) {
            spec.insert("online".to_owned(), Value::Null);
        }
        self.patch(host, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    /// Its machine is clean of the last claim, and the next one's: what was written about the last goes.
    pub(super) async fn hand_over(&self, host: &PhysicalHost) -> Result<Written, ReconcileError> {
        let mut annotations = json!({
            annotations::PROVISIONED: null, annotations::BOOTING: null, annotations::HEARD: null,
            annotations::RESTART: null, annotations::RESTARTED: null, annotations::AGENT: null,
            annotations::ERRAND: null,
        });
        if host.spec.boot.is_none() {
            unblock_move(&mut annotations, host);
        }
        self.patch(host, json!({ "metadata": { "annotations": annotations } })).await
    }

    /// It is ours to look after.
    pub(super) async fn adopt(&self, host: &PhysicalHost) -> Result<Written, ReconcileError> {
        let mut finalizers = host.finalizers().to_vec();
        finalizers.push(finalizers::PHYSICAL_HOST.to_owned());
        self.patch(host, json!({ "metadata": { "finalizers": finalizers } })).await
    }

    /// It may go.
    pub(super) async fn let_go(&self, host: &PhysicalHost) -> Result<Written, ReconcileError> {
        let rest: Vec<&String> =
            host.finalizers().iter().filter(|name| *name != finalizers::PHYSICAL_HOST).collect();
        self.patch(host, json!({ "metadata": { "finalizers": rest } })).await
    }

    async fn patch(&self, host: &PhysicalHost, change: Value) -> Result<Written, ReconcileError> {
        merge(&self.client, host, change).await.map_err(|error| ReconcileError::Write(Box::new(error)))
    }
}

/// clusterctl waits with a move.
fn block_move(annotations: &mut Value, host: &PhysicalHost) {
    if let (Some(why), Some(all)) = (block(host), annotations.as_object_mut()) {
        all.insert(annotations::BLOCK_MOVE.to_owned(), json!(why));
    }
}

/// clusterctl may go on.
fn unblock_move(annotations: &mut Value, host: &PhysicalHost) {
    if let (true, Some(all)) = (may_unblock(host), annotations.as_object_mut()) {
        all.insert(annotations::BLOCK_MOVE.to_owned(), Value::Null);
    }
}
