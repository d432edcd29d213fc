//! One look at one machine's claim: what only a Beskar7Machine knows.

use std::collections::BTreeSet;

use beskar7_api::{
    Beskar7Machine, PhysicalHost, annotations, boot::Cleaning, finalizers, physical_host::Reservation,
};
use beskar7_core::{
    claim::{Candidate, Instructions, Mark, Obstacle, Wanting},
    host::{
        heard::{Heard, Word},
        hold::Progress,
    },
    machine::{
        BootstrapData, Kept, bootstrap_secret, obstacle, on_hold, order, place, provider_id, reserved_for,
        wanting,
    },
    policy::{Tenure, Terms},
    pool::closed,
};
use kube::ResourceExt as _;
use serde_json::json;

use super::{KIND, around::Around, reconcile::Context};
use crate::{
    bootstrap_data,
    causes::causes,
    claim::{self, ClaimError, Claimant, Claiming, Claims, Found, Rest, Turn, View, consumer},
    clock::now,
};

impl Claimant for Beskar7Machine {
    const KIND: &'static str = KIND;
    const FINALIZER: &'static str = finalizers::MACHINE;

    fn is_settled(&self) -> bool {
        self.spec.provider_id.is_some()
    }
}

/// One look at one machine.
pub(super) struct Look<'a> {
    pub(super) context: &'a Context,
    pub(super) around: &'a Around,
    /// The other namespaces that let its own have hosts.
    pub(super) open: BTreeSet<String>,
}

impl Look<'_> {
    async fn bootstrap_data(&self, machine: &Beskar7Machine) -> BootstrapData {
        let Some(name) = bootstrap_secret(&self.around.view()).map(str::to_owned) else {
            return BootstrapData::NotWanted;
        };
        let namespace = machine.namespace().unwrap_or_default();
        match bootstrap_data::read(&self.context.client, &namespace, &name).await {
            Ok(bootstrap_data::Found::Data(data)) => BootstrapData::There(data.kind),
            Ok(bootstrap_data::Found::Empty) => BootstrapData::Empty(name),
            Ok(bootstrap_data::Found::Absent) => BootstrapData::Absent(name),
            Err(error) => BootstrapData::Unreadable { name, error: causes(&error) },
        }
    }

    /// What became of the host that is kept for a machine's cluster, if one is known. That this machine holds it itself
    /// does not count.
    fn kept(&self, mine: &Reservation, machine: &Beskar7Machine) -> Option<Kept> {
        let hosts = self.claims().hosts.all();
        let of_others = |host: &Candidate<'_>| {
            let consumer = consumer(machine, false);
            !host.claim.consumer.is_some_and(|reference| consumer.identity.is_meant_by(reference))
        };
        Kept::among(mine, hosts.iter().map(|host| Candidate::new(host)).filter(of_others))
    }
}

impl Claiming for Look<'_> {
    type Kind = Beskar7Machine;

    fn claims(&self) -> &Claims {
        &self.context.claims
    }

    fn on_hold(&self, machine: &Beskar7Machine) -> Option<Mark> {
        on_hold(machine, self.around.cluster())
    }

    /// Of its own namespace it may always have one.
    fn tenure(&self, machine: &Beskar7Machine, host: &PhysicalHost) -> Tenure {
        match host.metadata.namespace.as_deref() == Some(namespace(machine)) {
            true => Tenure::Allowed,
            false => self.context.caches.tenancy.tenure(host, namespace(machine), &self.open),
        }
    }

    fn wanting(&self, machine: &Beskar7Machine) -> Wanting {
        let (around, ordered) = (self.around.view(), order(&machine.spec, self.context.delivery).ok());
        let mut wanting = wanting(machine, &around, ordered.as_ref(), &self.open);
        wanting.reservation = reserved_for(&around, |mine| self.kept(mine, machine));
        wanting
    }

    fn instructions(&self, machine: &Beskar7Machine, _: Option<&PhysicalHost>) -> Option<Instructions> {
        order(&machine.spec, self.context.delivery).ok().map(|order| order.instructions)
    }

    fn is_known(&self) -> bool {
        self.around.is_known()
    }

    fn obstacle(&self, machine: &Beskar7Machine) -> Option<Obstacle> {
        obstacle(machine, &self.around.view(), self.context.delivery)
    }

    async fn last_obstacle(&self, machine: &Beskar7Machine) -> Option<Obstacle> {
        let given = order(&machine.spec, self.context.delivery).ok().and_then(|order| order.bootstrap);
        self.bootstrap_data(machine).await.obstacle(given)
    }

    fn in_vain(&self, machine: &Beskar7Machine, wanting: &Wanting, counts: String) -> String {
        match wanting.namespaces.is_empty() {
            true => closed(&place(machine, &self.around.view()), namespace(machine)),
            false => counts,
        }
    }

    fn cleaning(&self, machine: &Beskar7Machine) -> Cleaning {
        machine.spec.cleaning.unwrap_or_default()
    }

    fn policy(&self, machine: &Beskar7Machine, host: &PhysicalHost) -> Option<Terms> {
        let (there, own) = (host.metadata.namespace.as_deref().unwrap_or_default(), namespace(machine));
        if there == own {
            return None;
        }
        self.context.caches.tenancy.terms(there, own)
    }

    /// Once its host was seen to boot, the machine gets its identity.
    async fn bound(&self, view: View<Beskar7Machine>) -> Result<Turn<Beskar7Machine>, ClaimError> {
        let Found::There(host) = &view.host else { return Ok(Turn::Quiet) };
        let (machine, writes) = (view.object.as_ref(), &self.context.claims.writes);
        if self.tenure(machine, host) == Tenure::Revoked {
            return claim::revoke(self, view).await;
        }
        // It is looked at only because its host seemed to be taken back.
        if self.on_hold(machine).is_some() {
            return Ok(Turn::Quiet);
        }
        let claim = host.spec.claim_id.as_deref().unwrap_or_default();
        if Progress::of(host, claim) == Progress::Seen && machine.spec.provider_id.is_none() {
            let identity = json!({ "spec": { "providerID": provider_id(host) } });
            let written = writes.merge(machine, identity).await?;
            return Ok(Turn::again(view.with_object(written)));
        }
        let sighting = self.context.sight(machine, host, self.around);
        let proven = sighting.is_some_and(|sighting| sighting.proves_boot);
        // A host that is paused, or moved away, is not written to.
        let may_note = proven && !Candidate::new(host).on_hold;
        if may_note && !Heard::of(host, claim).has(Word::Node) {
            let heard = Heard::of(host, claim).with(Word::Node, now());
            let heard = json!({ "metadata": { "annotations": { annotations::HEARD: heard.to_string() } } });
            let written = writes.merge(host.as_ref(), heard).await?;
            return Ok(Turn::again(view.with_host(written)));
        }
        Ok(Turn::Rest(view, Rest::Held))
    }
}

fn namespace(machine: &Beskar7Machine) -> &str {
    machine.metadata.namespace.as_deref().unwrap_or_default()
}
