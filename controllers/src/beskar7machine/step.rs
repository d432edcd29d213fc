//! One step of a machine's claim: what the engine says is next, carried out.

use std::sync::Arc;

use beskar7_api::{Beskar7Machine, PhysicalHost, physical_host::Reservation};
use beskar7_core::{
    claim::{self, Candidate, ClaimId, Step, Wait, Why, intend},
    host::{
        heard::{Heard, Word},
        hold::Progress,
    },
    machine::{self, BootstrapData, Kept, Obstacle, Wanting, bootstrap_secret, obstacle, on_hold, order},
};
use kube::ResourceExt as _;

use super::{
    around::Around,
    claims::consumer,
    error::ReconcileError,
    reconcile::Context,
    view::{Found, View, id, intent},
};
use crate::{
    bootstrap_data, causes::causes, chance, clock::now, controller::Reconciler as _, watch::key,
    write::Written,
};

/// What a step leads to.
pub(super) enum Turn {
    /// Look again at once.
    Again(View),
    /// Somebody was faster: read it all again.
    Reread(claim::Order),
    /// That is all for now; this is to be said, and then looked at again.
    Rest(View, Rest),
    /// Nothing is to be said.
    Quiet,
}

/// What is to be said of a machine.
pub(super) enum Rest {
    Blocked(Obstacle),
    Searching(String),
    Held,
    HostPaused,
    Lost,
    Releasing,
}

impl Context {
    /// The claim's next step, carried out.
    pub(super) async fn turn(&self, view: View, around: &Around) -> Result<Turn, ReconcileError> {
        let machine = view.machine.clone();
        let held = on_hold(&machine, around.cluster()).is_some();
        let ordered = order(&machine.spec, self.delivery).ok();
        let surroundings = around.view();
        let hosts_named = self.referring(&machine).await?;
        let referring: Vec<Candidate<'_>> = hosts_named.iter().map(|host| Candidate::new(host)).collect();
        let wanting = Wanting::new(&machine, &surroundings, ordered.as_ref())
            .with_reservation(&surroundings, |mine| self.kept(mine, &machine));
        let step = claim::next(
            &consumer(&machine, held),
            &wanting.wish(),
            view.order,
            &view.host.intended(),
            &referring,
        );
        tracing::debug!(?step, live = view.live, "the claim's next step");
        let deleting = machine.metadata.deletion_timestamp.is_some();
        match step {
            Step::Wait(Wait::OnHold | Wait::NothingHeld) => Ok(Turn::Quiet),
            Step::Wait(Wait::HostOnHold) => Ok(Turn::Rest(view, Rest::HostPaused)),
            Step::Wait(Wait::HostLost) => Ok(Turn::Rest(view, Rest::Lost)),
            Step::Wait(Wait::Deprovisioning) if deleting => Ok(Turn::Rest(view, Rest::Releasing)),
            Step::Wait(Wait::Deprovisioning) => {
                let told = "Its last PhysicalHost is turned off and cleaned first".to_owned();
                Ok(Turn::Rest(view, Rest::Searching(told)))
            }
            Step::Look(order) => Ok(Turn::Reread(order)),
            Step::Bound => self.bound(view, around).await,
            Step::Choose => self.choose(view, around, wanting).await,
            // What begins or mends a claim needs to know whose it is; what ends one never waits.
            Step::WriteIntent(_, Why::Chosen | Why::FinalizerLost | Why::Adopted)
            | Step::BindHost(_)
            | Step::RestoreHost(_)
                if !around.is_known() && !deleting =>
            {
                match obstacle(&machine, &surroundings, self.delivery) {
                    Some(obstacle) => Ok(Turn::Rest(view, Rest::Blocked(obstacle))),
                    None => Ok(Turn::Quiet),
                }
            }
            Step::WriteIntent(..)
            | Step::DropIntent
            | Step::LetGo
            | Step::BindHost(_)
            | Step::RestoreHost(_)
            | Step::FenceHost(_)
            | Step::ReleaseHost(_)
            | Step::ReleaseStray { .. }
                if !view.live =>
            {
                Ok(Turn::Reread(claim::Order::HostThenConsumer))
            }
            step @ (Step::WriteIntent(..)
            | Step::DropIntent
            | Step::LetGo
            | Step::BindHost(_)
            | Step::RestoreHost(_)
            | Step::FenceHost(_)
            | Step::ReleaseHost(_)
            | Step::ReleaseStray { .. }) => self.carry_out(step, view, ordered.as_ref(), &wanting).await,
        }
    }

    async fn carry_out(
        &self,
        step: Step,
        view: View,
        ordered: Option<&machine::Order>,
        wanting: &Wanting,
    ) -> Result<Turn, ReconcileError> {
        let machine = &view.machine;
        let written = match (&step, &view.host) {
            (Step::WriteIntent(intent, _), _) => self.claims.write_intent(machine, intent).await?,
            (Step::DropIntent, _) => {
                let written = self.claims.drop_intent(machine).await?;
                self.free_choice(machine);
                written
            }
            (Step::LetGo, _) => {
                return Ok(match self.claims.let_go(machine).await? {
                    Written::To(_) => {
                        self.forget(&key(machine.as_ref()));
                        Turn::Quiet
                    }
                    Written::Stale => Turn::Reread(claim::Order::ConsumerThenHost),
                });
            }
            (Step::BindHost(claim) | Step::RestoreHost(claim), Found::There(host)) => {
                let bound = self.claims.bind(host, machine, claim, ordered, wanting.owner()).await?;
                return Ok(again(view.with_host(bound)));
            }
            (Step::ReleaseHost(claim), Found::There(host)) => {
                let released = self.claims.release(host, claim).await?;
                return Ok(again(view.with_host(released)));
            }
            (Step::FenceHost(claim), Found::There(host)) => {
                let host_key = key(host.as_ref());
                let fenced = self.claims.fence(&host_key, claim).await?;
                let host = Found::new(host_key, fenced.map(Arc::new));
                let order = claim::Order::ConsumerThenHost;
                return Ok(Turn::Again(View { host, order, ..view }));
            }
            (Step::ReleaseStray { namespace, name, claim_id }, _) => {
                self.claims.release_stray(&(namespace.clone(), name.clone()), claim_id).await?;
                return Ok(Turn::Rest(view, Rest::Held));
            }
            (
                Step::BindHost(_)
                | Step::RestoreHost(_)
                | Step::ReleaseHost(_)
                | Step::FenceHost(_)
                | Step::Wait(_)
                | Step::Look(_)
                | Step::Bound
                | Step::Choose,
                Found::NotLooked | Found::Gone(_) | Found::There(_),
            ) => return Ok(Turn::Quiet),
        };
        Ok(again(view.with_machine(written)))
    }

    /// Its host is its own: once it was seen to boot, the machine gets its identity.
    async fn bound(&self, view: View, around: &Around) -> Result<Turn, ReconcileError> {
        self.register.stops_waiting(&id(&view.machine));
        let Found::There(host) = &view.host else { return Ok(Turn::Quiet) };
        let claim = host.spec.claim_id.as_deref().unwrap_or_default();
        if Progress::of(host, claim) == Progress::Seen && view.machine.spec.provider_id.is_none() {
            let identity = machine::provider_id(host);
            let written = self.claims.identify(&view.machine, &identity).await?;
            return Ok(again(view.with_machine(written)));
        }
        let proven = self.sight(&view.machine, host, around).is_some_and(|sighting| sighting.proves_boot);
        if proven && !Heard::of(host, claim).has(Word::Node) {
            let written = self.claims.heard_node(host, claim, now()).await?;
            return Ok(again(view.with_host(written)));
        }
        Ok(Turn::Rest(view, Rest::Held))
    }

    async fn choose(&self, view: View, around: &Around, wanting: Wanting) -> Result<Turn, ReconcileError> {
        let machine = view.machine.clone();
        let consumer = id(&machine);
        if let Some(obstacle) = obstacle(&machine, &around.view(), self.delivery) {
            self.register.stops_waiting(&consumer);
            return Ok(Turn::Rest(view, Rest::Blocked(obstacle)));
        }
        // First it waits, then it looks: what changes between the two wakes it.
        let wanting = Arc::new(wanting);
        self.register.waits(&consumer, &wanting);
        let hosts = self.caches.hosts.all();
        let host = match self.register.choose(&consumer, &wanting, &hosts) {
            Ok(host) => host,
            Err(counts) => {
                let told = match wanting.is_out_of_bounds() {
                    true => "It wants hosts of another namespace, which this version can't give it: leave \
                             hostPool.namespace and hostSelector.inNamespace empty"
                        .to_owned(),
                    false => counts,
                };
                return Ok(Turn::Rest(view, Rest::Searching(told)));
            }
        };
        let given = order(&machine.spec, self.delivery).ok().and_then(|order| order.bootstrap);
        if let Some(obstacle) = self.bootstrap_data(&machine, around).await.obstacle(given) {
            self.free_choice(&machine);
            return Ok(Turn::Rest(view, Rest::Blocked(obstacle)));
        }
        let fresh = ClaimId::from_random(chance::bits()?);
        let Step::WriteIntent(intent, _) = intend(&Candidate::new(&host), fresh) else {
            return Ok(Turn::Quiet);
        };
        match self.claims.write_intent(&machine, &intent).await? {
            // The host was looked at before the machine was written: as it must be for what binds.
            Written::To(machine) => Ok(Turn::Again(View {
                machine: Arc::from(machine),
                host: Found::There(host),
                order: claim::Order::HostThenConsumer,
                live: true,
            })),
            Written::Stale => {
                self.free_choice(&machine);
                Ok(Turn::Reread(claim::Order::HostThenConsumer))
            }
        }
    }

    async fn bootstrap_data(&self, machine: &Beskar7Machine, around: &Around) -> BootstrapData {
        let Some(name) = bootstrap_secret(&around.view()).map(str::to_owned) else {
            return BootstrapData::NotWanted;
        };
        match bootstrap_data::read(&self.client, &machine.namespace().unwrap_or_default(), &name).await {
            Ok(bootstrap_data::Found::Data(data)) => BootstrapData::There(data.kind),
            Ok(bootstrap_data::Found::Empty) => BootstrapData::Empty(name),
            Ok(bootstrap_data::Found::Absent) => BootstrapData::Absent(name),
            Err(error) => BootstrapData::Unreadable { name, error: causes(&error) },
        }
    }

    /// What became of the host that is kept for a machine's cluster, if one is known. That this machine holds it itself
    /// does not count.
    fn kept(&self, mine: &Reservation, machine: &Beskar7Machine) -> Option<Kept> {
        let hosts = self.caches.hosts.all();
        let of_others = |host: &Candidate<'_>| {
            let consumer = consumer(machine, false);
            !host.claim.consumer.is_some_and(|reference| consumer.identity.is_meant_by(reference))
        };
        Kept::among(mine, hosts.iter().map(|host| Candidate::new(host)).filter(of_others))
    }

    /// The hosts that name a machine, as they were last seen; where all that is left is that, as they are.
    async fn referring(&self, machine: &Beskar7Machine) -> Result<Vec<Arc<PhysicalHost>>, ReconcileError> {
        if machine.metadata.deletion_timestamp.is_some() && intent(machine).is_none() {
            let found = self.claims.referring(&key(machine)).await?;
            return Ok(found.into_iter().map(Arc::new).collect());
        }
        let named = self.register.held_by(&id(machine));
        Ok(named.iter().filter_map(|host| self.caches.hosts.get(host)).collect())
    }
}

fn again(view: Option<View>) -> Turn {
    view.map_or(Turn::Reread(claim::Order::HostThenConsumer), Turn::Again)
}
