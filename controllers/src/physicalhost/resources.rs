//! What is made for a host whose machine boots from the network: its HostBootConfiguration and its DHCPReservation. They
//! have the host's name, belong to it, bear the claim's ID, and go with the claim.

use std::sync::Arc;

use beskar7_api::{
    DHCPReservation, GROUP, HostBootConfiguration, HostClaim, PhysicalHost, VERSION,
    conditions::host as reasons, labels,
};
use beskar7_core::{
    host::{
        contact::Trouble,
        hold::{Hold, Progress},
    },
    network_boot::{belongs_to, readiness, resources},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, PostParams, Preconditions},
    core::object::HasSpec,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    boot_server::{Presenter, first_of},
    causes::causes,
    claim::Claimant as _,
    watch::{Cache, key},
    write::Writable,
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

    /// Makes them what the host's claim asks for. The machine may be turned on when this says so.
    pub(super) async fn prepare(
        &self,
        host: &PhysicalHost,
        claim: &str,
        presenter: &Presenter,
    ) -> Result<(), Trouble> {
        let boot = host.spec.boot.clone().unwrap_or_default();
        let tenants = self.tenants(host);
        let wanted = resources(host, &boot, tenants.as_deref(), &presenter.links.shown_script())?;
        let name = host.name_any();
        let reservation = DHCPReservation::new(&name, wanted.reservation);
        self.is_the_one_that_is_answered(&self.make(reservation, host, claim).await?)?;
        let configuration = HostBootConfiguration::new(&name, wanted.configuration);
        readiness(&self.make(configuration, host, claim).await?)
    }

    /// Removes what was made for a host, for whichever claim. What can't be removed is left: it bears the claim's ID, is
    /// served to nobody then, and gives way to the next one.
    pub(super) async fn remove(&self, host: &PhysicalHost) {
        for removed in [
            self.remove_one::<DHCPReservation>(host).await,
            self.remove_one::<HostBootConfiguration>(host).await,
        ] {
            if let Err(error) = removed {
                tracing::warn!(
                    error = causes(&error),
                    "what the host booted from the network is left behind"
                );
            }
        }
    }

    /// Makes what is missing of it for a machine that boots or runs: it renews its address, and may read its root at any
    /// time. What it boots is not changed any more; what it is told when it asks may be.
    pub(super) async fn repair(&self, host: &PhysicalHost, presenter: &Presenter) -> Result<(), Trouble> {
        let (Hold::Held { claim }, Some(boot)) = (Hold::of(host), &host.spec.boot) else { return Ok(()) };
        if !boot.method.is_from_network() || Progress::of(host, claim) == Progress::NotBegun {
            return Ok(());
        }
        let (known, name) = (key(host), host.name_any());
        let wanted = resources(host, boot, self.tenants(host).as_deref(), &presenter.links.shown_script())?;
        let is_right = |found: &Arc<DHCPReservation>| found.spec == wanted.reservation;
        if !self.reservations.get(&known).as_ref().is_some_and(is_right) {
            self.make(DHCPReservation::new(&name, wanted.reservation), host, claim).await?;
        }
        if self.configurations.get(&known).is_none() {
            self.make(HostBootConfiguration::new(&name, wanted.configuration), host, claim).await?;
        }
        Ok(())
    }

    /// Another one with the same address would be answered in its place: with somebody else's secrets.
    fn is_the_one_that_is_answered(&self, reservation: &DHCPReservation) -> Result<(), Trouble> {
        let mac = &reservation.spec.host_mac;
        let same = self.reservations.all().into_iter().filter(|other| {
            other.spec.host_mac.eq_ignore_ascii_case(mac) && other.metadata.deletion_timestamp.is_none()
        });
        let first = first_of(same.chain([Arc::new(reservation.clone())]));
        let Some(other) = first.map(|first| key(first.as_ref())).filter(|first| *first != key(reservation))
        else {
            return Ok(());
        };
        Err(Trouble {
            reason: reasons::BOOT_MAC_IN_USE,
            message: format!(
                "The machine is not booted: {mac} is reserved by {}/{} as well, which is older and would be answered. Correct the bootMACAddress of one of the two hosts",
                other.0, other.1
            ),
            passes: true,
        })
    }

    /// The tenant's claim that holds a host, if one does.
    fn tenants(&self, host: &PhysicalHost) -> Option<Arc<HostClaim>> {
        let reference = host.spec.consumer_ref.as_ref()?;
        (reference.kind.as_deref() == Some(HostClaim::KIND))
            .then(|| self.claims.get(&(reference.namespace.clone()?, reference.name.clone()?)))?
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
            Some(found) if is_hosts(&found, host) => {
                delete(&objects, &found).await.map_err(|error| not_written(&error))?;
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
        let Some(found) = found.filter(|found| is_hosts(found, host)) else { return Ok(()) };
        delete(&objects, &found).await
    }
}

/// This very one.
async fn delete<K: Writable>(objects: &Api<K>, found: &K) -> Result<(), kube::Error> {
    let this_one = Preconditions { uid: found.uid(), resource_version: None };
    let only_this = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
    match objects.delete(&found.name_any(), &only_this).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
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

/// Whether something was made here for this very host, for whichever claim.
fn is_hosts<K: Writable>(object: &K, host: &PhysicalHost) -> bool {
    object.labels().get(labels::CLAIM_ID).is_some_and(|claim| belongs_to(object.meta(), host, claim))
}

fn labelled<K: Writable>(mut object: K, host: &PhysicalHost, claim: &str) -> K {
    let metadata = object.meta_mut();
    metadata.namespace = host.namespace();
    let owner = json!([{
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "PhysicalHost",
        "name": host.name_any(), "uid": host.metadata.uid,
    }]);
    metadata.owner_references = serde_json::from_value(owner).ok();
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
