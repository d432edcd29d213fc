//! One look at one claim: what only a HostClaim knows.

use std::collections::BTreeSet;

use beskar7_api::{HostClaim, PhysicalHost, annotations, finalizers};
use beskar7_core::{
    claim::{Candidate, Instructions, Intent, Obstacle, Order, Wanting},
    host::hold::Progress,
    hostclaim::{instructions, on_hold, wanting},
    policy::Tenure,
};
use kube::ResourceExt as _;
use serde_json::json;

use super::{KIND, reconcile::Context};
use crate::claim::{self, ClaimError, Claimant, Claiming, Claims, Found, Rest, Turn, View};

impl Claimant for HostClaim {
    const KIND: &'static str = KIND;
    const FINALIZER: &'static str = finalizers::HOST_CLAIM;

    /// Its machine was installed under the claim that it holds: another one would be empty.
    fn is_settled(&self) -> bool {
        let intent = self.annotations().get(annotations::CLAIM).and_then(|text| Intent::parse(text));
        let installed = self.annotations().get(annotations::PROVISIONED);
        match (intent, installed) {
            (Some(intent), Some(installed)) => intent.claim_id.as_str() == installed,
            // The intent is gone, and that there was a machine is not forgotten.
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }
}

/// One look at one claim.
pub(super) struct Look<'a> {
    pub(super) context: &'a Context,
    /// The namespaces that let its own have hosts.
    pub(super) open: BTreeSet<String>,
}

impl Look<'_> {
    /// Whether a claim may have its host.
    pub(super) fn tenure(&self, host: &PhysicalHost) -> Tenure {
        self.context.caches.tenancy.tenure(host, &self.open)
    }
}

impl Claiming for Look<'_> {
    type Kind = HostClaim;

    fn claims(&self) -> &Claims {
        &self.context.claims
    }

    fn is_on_hold(&self, claim: &HostClaim) -> bool {
        on_hold(claim).is_some()
    }

    fn wanting(&self, claim: &HostClaim) -> Wanting {
        wanting(claim, &self.open)
    }

    fn instructions(&self, claim: &HostClaim, host: Option<&PhysicalHost>) -> Option<Instructions> {
        Some(instructions(claim, host))
    }

    fn is_known(&self) -> bool {
        true
    }

    fn obstacle(&self, _: &HostClaim) -> Option<Obstacle> {
        None
    }

    async fn last_obstacle(&self, _: &HostClaim) -> Option<Obstacle> {
        None
    }

    fn in_vain(&self, _: &HostClaim, _: &Wanting, counts: String) -> String {
        counts
    }

    fn policy(&self, claim: &HostClaim, host: &PhysicalHost) -> Option<String> {
        let there = host.metadata.namespace.as_deref().unwrap_or_default();
        let own = claim.metadata.namespace.as_deref().unwrap_or_default();
        self.context.caches.tenancy.terms(there, own).map(|terms| terms.policy.to_string())
    }

    /// What the claim says now is written into its host; that its machine was installed, into the claim.
    async fn bound(&self, view: View<HostClaim>) -> Result<Turn<HostClaim>, ClaimError> {
        let Found::There(host) = &view.host else { return Ok(Turn::Quiet) };
        // Nothing is written into a host that is to be left alone.
        if Candidate::new(host).on_hold {
            return Ok(Turn::Rest(view, Rest::HostPaused));
        }
        if self.tenure(host) == Tenure::Revoked {
            return claim::revoke(self, view).await;
        }
        let (claim, writes) = (view.object.as_ref(), &self.context.claims.writes);
        let id = host.spec.claim_id.as_deref().unwrap_or_default();
        let installed = claim.annotations().get(annotations::PROVISIONED).map(String::as_str);
        if Progress::of(host, id) == Progress::Seen && installed != Some(id) {
            let mark = json!({ "metadata": { "annotations": { annotations::PROVISIONED: id } } });
            let written = writes.merge(claim, mark).await?;
            return Ok(Turn::again(view.with_object(written)));
        }
        let wanted = instructions(claim, Some(host));
        let told = &host.spec;
        if told.boot_iso_source != wanted.boot_iso_source
            || told.boot != wanted.boot
            || told.online != wanted.online
        {
            // A claim that changed since it was read must not be carried out.
            if !view.live {
                return Ok(Turn::Reread(Order::HostThenConsumer));
            }
            let written = writes.instruct(host, &wanted).await?;
            return Ok(Turn::again(view.with_host(written)));
        }
        Ok(Turn::Rest(view, Rest::Held))
    }
}
