//! What is made for a host whose machine boots from the network: its HostBootConfiguration and its DHCPReservation. They
//! have the host's name, belong to it, bear the claim's ID, and go with the claim.

use beskar7_api::{
    DHCPReservation, DHCPReservationSpec, HostBootConfiguration, HostClaim, PhysicalHost, boot::AgentTask,
    conditions::host as reasons, labels, physical_host::HostBoot,
};
use beskar7_core::{
    host::{
        belongings::{belongs_to, is_hosts, owner},
        contact::Trouble,
        hold::{Hold, Progress},
    },
    network_boot::{
        Resources as Wanted, Shared, answered_before, gives_its_address, made_ready_with, needs_resources,
        readiness, resources,
    },
};
use kube::{Api, Client, ResourceExt as _, api::PostParams, core::object::HasSpec};
use serde::Serialize;

use crate::{
    boot_server::Presenter,
    causes::causes,
    claim::held_by,
    watch::{Cache, key},
    write::{Writable, delete},
};

/// Makes and removes them.
pub(super) struct Resources {
    client: Client,
    claims: Cache<HostClaim>,
    configurations: Cache<HostBootConfiguration>,
    reservations: Cache<DHCPReservation>,
}

impl Resources {
    pub(super) fn new(
        client: Client,
        claims: Cache<HostClaim>,
        configurations: Cache<HostBootConfiguration>,
        reservations: Cache<DHCPReservation>,
    ) -> Self {
        Self { client, claims, configurations, reservations }
    }

    /// Makes them what the host boots for its claim, or for its errand. The machine may be turned on when this says so.
    pub(super) async fn prepare(
        &self,
        host: &PhysicalHost,
        claim: &str,
        boot: (&HostBoot, Option<AgentTask>),
        presenter: &Presenter,
    ) -> Result<(), Trouble> {
        let wanted = self.wanted(host, boot, presenter, None)?;
        let name = host.name_any();
        if let Some(reservation) = wanted.reservation {
            let reservation = DHCPReservation::new(&name, reservation);
            self.is_the_one_that_is_answered(&self.make(reservation, host, claim).await?)?;
        }
        let configuration = HostBootConfiguration::new(&name, wanted.configuration);
        readiness(&self.make(configuration, host, claim).await?)
    }

    /// Removes what was made for a host, for whichever claim. What can't be removed is left: it bears the claim's ID, is
    /// served to nobody then, and gives way to the next one.
    pub(super) async fn remove(&self, host: &PhysicalHost) {
        if let Err(trouble) = self.try_to_remove(host).await {
            tracing::warn!(error = trouble.message, "what the host booted from the network is left behind");
        }
    }

    /// The same, where nothing comes after it that what is left would give way to.
    pub(super) async fn try_to_remove(&self, host: &PhysicalHost) -> Result<(), Trouble> {
        let reservation = self.remove_one::<DHCPReservation>(host).await;
        let configuration = self.remove_one::<HostBootConfiguration>(host).await;
        reservation.and(configuration).map_err(|error| Trouble {
            reason: reasons::BOOT_RESOURCES_NOT_WRITTEN,
            message: format!("What the host booted from the network can't be removed: {}", causes(&error)),
            passes: true,
        })
    }

    /// Makes what is missing of it for a machine that boots or runs: it renews its address, and may read its root at any
    /// time. What it boots is not changed any more, nor the address that it asks with; what it is told when it asks may be.
    pub(super) async fn repair(&self, host: &PhysicalHost, presenter: &Presenter) -> Result<(), Trouble> {
        let (Hold::Held { claim }, Some(boot)) = (Hold::of(host), &host.spec.boot) else { return Ok(()) };
        if !needs_resources(boot) || Progress::of(host, claim) == Progress::NotBegun {
            return Ok(());
        }
        let (known, name) = (key(host), host.name_any());
        let found = self.reservations.get(&known);
        let mac = made_ready_with(found.as_deref(), host, claim);
        let wanted = self.wanted(host, (boot, None), presenter, mac)?;
        let is_wrong =
            |wanted: &DHCPReservationSpec| found.as_ref().is_none_or(|found| found.spec != *wanted);
        if let Some(reservation) = wanted.reservation.filter(is_wrong) {
            let mut reservation = DHCPReservation::new(&name, reservation);
            reservation.metadata.namespace = host.namespace();
            if let Some(found) = &found {
                self.keeps_to_its_own(&reservation, found)?;
            }
            self.make(reservation, host, claim).await?;
        }
        if self.configurations.get(&known).is_none() {
            self.make(HostBootConfiguration::new(&name, wanted.configuration), host, claim).await?;
        }
        Ok(())
    }

    /// Another one with the same MAC address would be answered in its place: with somebody else's secrets. Another one that
    /// is given the same IP address would take its traffic.
    fn is_the_one_that_is_answered(&self, reservation: &DHCPReservation) -> Result<(), Trouble> {
        let all = self.reservations.all();
        match answered_before(reservation, all.iter().map(AsRef::as_ref)) {
            None => Ok(()),
            Some((shared, other)) => Err(in_use(reservation, shared, other)),
        }
    }

    /// A machine that runs is not given an address that another one was given meanwhile, however old its reservation is.
    fn keeps_to_its_own(&self, wanted: &DHCPReservation, found: &DHCPReservation) -> Result<(), Trouble> {
        if wanted.spec.ip_address == found.spec.ip_address {
            return Ok(());
        }
        let all = self.reservations.all();
        match gives_its_address(wanted, all.iter().map(AsRef::as_ref)) {
            None => Ok(()),
            Some(other) => Err(in_use(wanted, Shared::Address, other)),
        }
    }

    /// What a host is to have. A tenant's claim says more of it than the host.
    fn wanted(
        &self,
        host: &PhysicalHost,
        boot: (&HostBoot, Option<AgentTask>),
        presenter: &Presenter,
        mac: Option<&str>,
    ) -> Result<Wanted, Trouble> {
        // An errand is nobody's, whoever is still named on the host.
        let holder = held_by::<HostClaim>(host).filter(|_| boot.1.is_none());
        let tenants = holder.and_then(|claim| self.claims.get(&claim));
        resources(host, boot, tenants.as_deref(), &presenter.links.shown_script(), &presenter.agent, mac)
    }

    async fn make<K>(&self, wanted: K, host: &PhysicalHost, claim: &str) -> Result<K, Trouble>
    where
        K: Writable + HasSpec + Serialize,
        K::Spec: PartialEq + Clone,
    {
        let objects: Api<K> = Api::namespaced(self.client.clone(), &host.namespace().unwrap_or_default());
        let found = objects.get_opt(&host.name_any()).await.map_err(|error| not_written(&error))?;
        let wanted = labelled(wanted, host, claim);
        let written = match found {
            None => objects.create(&PostParams::default(), &wanted).await,
            Some(found) if found.meta().deletion_timestamp.is_some() => {
                return Err(goes(&K::kind(&()), &host.name_any()));
            }
            Some(found) if belongs_to(found.meta(), host, claim) && found.spec() == wanted.spec() => {
                return Ok(found);
            }
            Some(mut found) if belongs_to(found.meta(), host, claim) => {
                *found.spec_mut() = wanted.spec().clone();
                objects.replace(&host.name_any(), &PostParams::default(), &found).await
            }
            // What was found out for another claim must not be taken for this one's.
            Some(found) if is_hosts(found.meta(), host) => {
                delete(&objects, &found, None).await.map_err(|error| not_written(&error))?;
                objects.create(&PostParams::default(), &wanted).await
            }
            Some(_) => {
                let (kind, name) = (K::kind(&()), host.name_any());
                return Err(Trouble {
                    reason: reasons::BOOT_RESOURCES_NOT_WRITTEN,
                    message: format!(
                        "The machine is not booted: there is a {kind} {name} that was not made for this host, and is left alone. Rename or delete it"
                    ),
                    passes: true,
                });
            }
        };
        written.map_err(|error| not_written(&error))
    }

    async fn remove_one<K: Writable>(&self, host: &PhysicalHost) -> Result<(), kube::Error> {
        let objects: Api<K> = Api::namespaced(self.client.clone(), &host.namespace().unwrap_or_default());
        let found = objects.get_opt(&host.name_any()).await?;
        let Some(found) = found.filter(|found| is_hosts(found.meta(), host)) else { return Ok(()) };
        delete(&objects, &found, None).await
    }
}

fn in_use(reservation: &DHCPReservation, shared: Shared, other: &DHCPReservation) -> Trouble {
    let (spec, (namespace, name)) = (&reservation.spec, key(other));
    let (reason, message) = match shared {
        Shared::Mac => (
            reasons::BOOT_MAC_IN_USE,
            format!(
                "The machine is not booted: {} is reserved by {namespace}/{name} as well, which is older and would be answered. Correct the bootMACAddress of one of the two hosts",
                spec.host_mac
            ),
        ),
        Shared::Address => (
            reasons::BOOT_ADDRESS_IN_USE,
            format!(
                "The machine is not given the address {}: {namespace}/{name} gives it as well, and was first. Correct bootNetwork.ipAddress of one of the two hosts",
                spec.ip_address.as_deref().unwrap_or_default()
            ),
        ),
    };
    Trouble { reason, message, passes: true }
}

fn goes(kind: &str, name: &str) -> Trouble {
    Trouble {
        reason: reasons::BOOT_RESOURCES_NOT_WRITTEN,
        message: format!(
            "The machine is not booted: the {kind} {name} is being deleted, and is made anew when it is gone"
        ),
        passes: true,
    }
}

fn labelled<K: Writable>(mut object: K, host: &PhysicalHost, claim: &str) -> K {
    let metadata = object.meta_mut();
    metadata.namespace = host.namespace();
    metadata.owner_references = Some(vec![owner(host)]);
    // Whoever looks after the host looks after these.
    let filter = host.labels().get(labels::WATCH_FILTER).cloned();
    let filter = filter.map(|value| (labels::WATCH_FILTER.to_owned(), value));
    metadata.labels =
        Some(filter.into_iter().chain([(labels::CLAIM_ID.to_owned(), claim.to_owned())]).collect());
    object
}

fn not_written(error: &kube::Error) -> Trouble {
    Trouble {
        reason: reasons::BOOT_RESOURCES_NOT_WRITTEN,
        message: format!("What the host needs to boot from the network can't be written: {}", causes(error)),
        passes: true,
    }
}
