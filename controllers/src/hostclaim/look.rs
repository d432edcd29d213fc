//! One look at one claim: what only a HostClaim knows.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use beskar7_api::{
    HostClaim, PhysicalHost, annotations, boot::Cleaning, conditions::claim as reasons, finalizers,
};
use beskar7_core::{
    claim::{Candidate, Instructions, Mark, Obstacle, Order, Wanting},
    host::{hold::Progress, restart::Restart},
    hostclaim::{
        Part, Synced, asked, booted, instructions, names_configuration, on_hold, order, sources, wanting,
        wants_another,
    },
    policy::{Tenure, Terms},
};
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::{KIND, reconcile::Context};
use crate::{
    chance,
    claim::{self, ClaimError, Claimant, Claiming, Claims, Found, Rest, Turn, View},
};

impl Claimant for HostClaim {
    const KIND: &'static str = KIND;
    const FINALIZER: &'static str = finalizers::HOST_CLAIM;

    /// Its machine was installed under the claim that it holds: another one would be empty.
    fn is_settled(&self) -> bool {
        let installed = self.annotations().get(annotations::PROVISIONED);
        match (claim::intent(self), installed) {
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
    /// What became of its configuration in this look.
    synced: Mutex<Synced>,
}

impl<'a> Look<'a> {
    pub(super) fn new(context: &'a Context, open: BTreeSet<String>) -> Self {
        Self { context, open, synced: Mutex::new(Synced::Yes) }
    }

    /// What became of its configuration.
    pub(super) fn synced(&self) -> Synced {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn became(&self, synced: Synced) {
        *self.synced.lock().unwrap_or_else(PoisonError::into_inner) = synced;
    }

    /// That its machine was installed is written into the claim: it gets no other from then on.
    async fn note_installed(&self, view: View<HostClaim>) -> Result<Turn<HostClaim>, ClaimError> {
        let id = view.host.host().and_then(|host| host.spec.claim_id.as_deref()).unwrap_or_default();
        let mark = json!({ "metadata": { "annotations": { annotations::PROVISIONED: id } } });
        let written = self.context.claims.writes.merge(view.object.as_ref(), mark).await?;
        Ok(Turn::again(view.with_object(written)))
    }

    /// A restart that the tenant asked for goes from what it wrote to the host, by a token that makes it one restart.
    async fn hand_on_restart(
        &self,
        view: View<HostClaim>,
        host: Arc<PhysicalHost>,
    ) -> Result<Turn<HostClaim>, ClaimError> {
        if !view.live {
            return Ok(Turn::Reread(Order::HostThenConsumer));
        }
        let (claim, writes) = (view.object.clone(), &self.context.claims.writes);
        let ours =
            claim.annotations().get(annotations::RESTART).filter(|text| Restart::parse(text).is_some());
        let id = host.spec.claim_id.as_deref().unwrap_or_default();
        // What is being installed would be broken by it, and what is off is started by being turned on.
        let is_installed = Progress::of(&host, id) == Progress::Seen;
        let change = |annotations: Value| json!({ "metadata": { "annotations": annotations } });
        match (asked(&claim), ours) {
            (Some((mode, by)), _) => {
                let restart = Restart { mode, token: format!("{:032x}", chance::bits()?) };
                let taken_up = is_installed.then(|| restart.to_string());
                let taken_off = by.into_iter().map(|name| (name, Value::Null));
                let annotations: Map<String, Value> = taken_off
                    .chain([(annotations::RESTART, json!(taken_up))])
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                let written = writes.merge(claim.as_ref(), change(annotations.into())).await?;
                Ok(Turn::again(view.with_object(written)))
            }
            (None, Some(ours)) if host.annotations().get(annotations::RESTART) != Some(ours) => {
                let written =
                    writes.merge(host.as_ref(), change(json!({ annotations::RESTART: ours }))).await?;
                Ok(Turn::again(view.with_host(written)))
            }
            (None, _) => {
                let done = change(json!({ annotations::RESTART: null }));
                let written = writes.merge(claim.as_ref(), done).await?;
                Ok(Turn::again(view.with_object(written)))
            }
        }
    }

    /// Which copies a host has is written onto it before they are made, and after they are removed: whoever frees the host
    /// finds them.
    async fn name_copies(
        &self,
        view: View<HostClaim>,
        host: &PhysicalHost,
        parts: &[Part],
    ) -> Result<Turn<HostClaim>, ClaimError> {
        if !view.live {
            return Ok(Turn::Reread(Order::HostThenConsumer));
        }
        let named = (!parts.is_empty()).then(|| Part::write_all(parts));
        let change = json!({ "metadata": { "annotations": { annotations::COPIES: named } } });
        let written = self.context.claims.writes.merge(host, change).await?;
        Ok(Turn::again(view.with_host(written)))
    }

    /// Makes the copies on a host what the claim's Secrets are. What is to be done first, if something is.
    async fn synchronize(
        &self,
        claim: &HostClaim,
        host: &PhysicalHost,
    ) -> Result<Option<Vec<Part>>, ClaimError> {
        let there = Part::copied(host);
        // What can't be given to the machine is not copied, either.
        let can_be_given = order(claim, self.context.delivery).is_ok();
        let sources = sources(claim).ok().filter(|_| can_be_given).unwrap_or_default();
        let wanted: Vec<Part> = sources.iter().map(|source| source.part).collect();
        if wanted.iter().any(|part| !there.contains(part)) {
            let all = Part::ALL.into_iter().filter(|part| wanted.contains(part) || there.contains(part));
            return Ok(Some(all.collect()));
        }
        let copies = &self.context.copies;
        if can_be_given {
            let id = host.spec.claim_id.as_deref().unwrap_or_default();
            self.became(copies.synchronize(claim, host, id).await.map_err(claim::write)?);
        }
        let surplus: Vec<Part> = there.iter().copied().filter(|part| !wanted.contains(part)).collect();
        if surplus.is_empty() {
            return Ok(None);
        }
        match copies.remove_surplus(host, &surplus).await.map_err(claim::write)? {
            Synced::Yes => Ok(Some(wanted)),
            refused @ Synced::No { .. } => {
                self.became(refused);
                Ok(None)
            }
        }
    }
}

impl Claiming for Look<'_> {
    type Kind = HostClaim;

    fn claims(&self) -> &Claims {
        &self.context.claims
    }

    fn on_hold(&self, claim: &HostClaim) -> Option<Mark> {
        on_hold(claim)
    }

    fn tenure(&self, claim: &HostClaim, host: &PhysicalHost) -> Tenure {
        let own = claim.metadata.namespace.as_deref().unwrap_or_default();
        self.context.caches.tenancy.tenure(host, own, &self.open)
    }

    fn wanting(&self, claim: &HostClaim) -> Wanting {
        wanting(claim, &self.open, self.context.delivery)
    }

    /// A host is bound first, and has its configuration then.
    fn instructions(&self, claim: &HostClaim, host: Option<&PhysicalHost>) -> Option<Instructions> {
        let synced =
            if names_configuration(claim) { Synced::no(reasons::NOT_ASSOCIATED, "") } else { Synced::Yes };
        Some(instructions(claim, host, &synced, self.context.delivery))
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

    fn cleaning(&self, _: &HostClaim) -> Cleaning {
        Cleaning::None
    }

    fn policy(&self, claim: &HostClaim, host: &PhysicalHost) -> Option<Terms> {
        let there = host.metadata.namespace.as_deref().unwrap_or_default();
        let own = claim.metadata.namespace.as_deref().unwrap_or_default();
        self.context.caches.tenancy.terms(there, own)
    }

    /// What the claim says now is written into its host; that its machine was installed, into the claim.
    async fn bound(&self, view: View<HostClaim>) -> Result<Turn<HostClaim>, ClaimError> {
        let Found::There(host) = &view.host else { return Ok(Turn::Quiet) };
        let (claim, host) = (view.object.clone(), host.clone());
        // Nothing is written into a host that is to be left alone.
        if Candidate::new(&host).on_hold {
            return Ok(Turn::Rest(view, Rest::HostPaused));
        }
        if self.tenure(&claim, &host) == Tenure::Revoked {
            return claim::revoke(self, view).await;
        }
        // It is looked at only because its host seemed to be taken back.
        if on_hold(&claim).is_some() {
            return Ok(Turn::Quiet);
        }
        if wants_another(&claim, &host, self.context.delivery) {
            return claim::renew(self, view).await;
        }
        let id = host.spec.claim_id.as_deref().unwrap_or_default();
        let installed = claim.annotations().get(annotations::PROVISIONED).map(String::as_str);
        if Progress::of(&host, id) == Progress::Seen && installed != Some(id) {
            return self.note_installed(view).await;
        }
        if asked(&claim).is_some() || claim.annotations().contains_key(annotations::RESTART) {
            return self.hand_on_restart(view, host).await;
        }
        if let Some(parts) = self.synchronize(&claim, &host).await? {
            return self.name_copies(view, &host, &parts).await;
        }
        let wanted = instructions(&claim, Some(&host), &self.synced(), self.context.delivery);
        let told = &host.spec;
        if told.boot_iso_source != wanted.boot_iso_source
            || told.boot != wanted.boot
            || told.online != wanted.online
            || booted(&host) != wanted.image
        {
            // A claim that changed since it was read must not be carried out.
            if !view.live {
                return Ok(Turn::Reread(Order::HostThenConsumer));
            }
            let written = self.context.claims.writes.instruct(&host, &wanted).await?;
            return Ok(Turn::again(view.with_host(written)));
        }
        Ok(Turn::Rest(view, Rest::Held))
    }
}
