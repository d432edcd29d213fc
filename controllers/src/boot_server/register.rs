//! What machines are told by DHCP: by their reservations, and by what their hosts boot now.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use beskar7_api::{DHCPReservation, PhysicalHost, labels};
use beskar7_boot::{
    delivery::ArtifactName,
    dhcp::{Addressing, Asked, Boot, Counted, Loader, Mac, Register, Reservation, Stranger},
};
use beskar7_core::{
    delivery,
    host::belongings::belongs_to,
    network_boot::{CAPABILITY, Told, starts_by_itself, told},
};
use kube::ResourceExt as _;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::{Links, discovery::Discovery, hearing::Hearing, sightings::Sightings, witness::Witness};
use crate::{
    caches::Caches,
    diagnostics::Metrics,
    watch::{Cache, Key, key},
};

/// How long an address may be kept, where a reservation does not say.
const LEASE: Duration = Duration::from_secs(3600);

/// The reservation that is answered in the place of this one, if another is: it has the same address, and is older.
pub(crate) fn answered_before(
    reservation: &DHCPReservation,
    all: &Cache<DHCPReservation>,
) -> Option<Arc<DHCPReservation>> {
    let same = all.all().into_iter().filter(|other| {
        other.spec.host_mac.eq_ignore_ascii_case(&reservation.spec.host_mac)
            && other.metadata.deletion_timestamp.is_none()
    });
    // It may be too new to be known.
    let first = first_of(same.chain([Arc::new(reservation.clone())]))?;
    (key(first.as_ref()) != key(reservation)).then_some(first)
}

/// Of several reservations of one address, the one that is answered: the oldest.
fn first_of(reservations: impl IntoIterator<Item = Arc<DHCPReservation>>) -> Option<Arc<DHCPReservation>> {
    reservations.into_iter().min_by_key(|found| {
        let created = found.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, key(found.as_ref()))
    })
}

/// Which machines are known; cheap to clone.
#[derive(Clone)]
pub(super) struct Machines {
    pub(super) links: Links,
    pub(super) hosts: Cache<PhysicalHost>,
    pub(super) reservations: Cache<DHCPReservation>,
    pub(super) hearing: Hearing,
    pub(super) witness: Witness,
    pub(super) sightings: Sightings,
    pub(super) metrics: Metrics,
    /// Who looks for machines that nobody knows, if somebody does.
    pub(super) discovery: Option<Arc<Discovery>>,
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    /// Those who have an address.
    of_mac: HashMap<Mac, Vec<Key>>,
    mac_of: HashMap<Key, Mac>,
}

impl Machines {
    pub(super) fn new(
        links: Links,
        caches: &Caches,
        (hearing, witness, sightings): (Hearing, Witness, Sightings),
        metrics: Metrics,
        discovery: Option<Arc<Discovery>>,
    ) -> Self {
        let (hosts, reservations) = (caches.hosts.clone(), caches.reservations.clone());
        let known = Arc::default();
        Self { links, hosts, reservations, hearing, witness, sightings, metrics, discovery, known }
    }

    /// Keeps them current until `stop`.
    pub(super) async fn follow(self, mut changes: UnboundedReceiver<Key>, stop: CancellationToken) {
        while let Some(Some(key)) = stop.run_until_cancelled(changes.recv()).await {
            self.saw(key);
        }
    }

    fn saw(&self, key: Key) {
        let mac = self.reservations.get(&key).and_then(|found| Mac::parse(&found.spec.host_mac));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = match mac {
            Some(mac) => known.mac_of.insert(key.clone(), mac),
            None => known.mac_of.remove(&key),
        };
        if before == mac {
            return;
        }
        if let Some(before) = before
            && let Some(keys) = known.of_mac.get_mut(&before)
        {
            keys.retain(|other| *other != key);
            if keys.is_empty() {
                known.of_mac.remove(&before);
            }
        }
        if let Some(mac) = mac {
            known.of_mac.entry(mac).or_default().push(key);
        }
    }

    fn found(&self, mac: Mac) -> Option<Arc<DHCPReservation>> {
        let keys = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.of_mac.get(&mac).cloned()?
        };
        let all = keys.iter().filter_map(|key| self.reservations.get(key));
        first_of(all.filter(|found| found.metadata.deletion_timestamp.is_none()))
    }

    fn host_of(&self, reservation: &DHCPReservation) -> Option<Arc<PhysicalHost>> {
        let (namespace, _) = key(reservation);
        self.hosts.get(&(namespace, reservation.spec.host_ref.name.clone()))
    }

    /// What the machine of a reservation boots now.
    fn boot(&self, reservation: &DHCPReservation) -> Boot {
        let Some(parameters) = &reservation.spec.pxe_boot_parameters else { return Boot::Disk };
        if !parameters.contains(CAPABILITY) {
            // Somebody wrote it down: it is told as it is.
            return Boot::Script { script: parameters.clone(), program: None };
        }
        let (Some(claim), Some(host)) =
            (reservation.labels().get(labels::CLAIM_ID), self.host_of(reservation))
        else {
            return Boot::Disk;
        };
        if !belongs_to(&reservation.metadata, &host, claim) || delivery::runs_for(&host) != Some(claim) {
            return Boot::Disk;
        }
        let program = match told(&host, claim, |word| self.hearing.has_heard(&host, claim, word)) {
            // Its script says so: firmware that is told nothing asks again and again before it goes on to its disk.
            Told::Disk => None,
            Told::Network => {
                let by_itself = delivery::claim_of(&host).is_some()
                    && host.spec.boot.as_ref().is_some_and(starts_by_itself);
                by_itself.then(|| self.links.artifact(claim, ArtifactName::Program))
            }
        };
        Boot::Script { script: self.links.script(claim), program }
    }
}

impl Register for Machines {
    fn reservation(&self, mac: Mac) -> Option<Reservation> {
        // Who is told nothing asks again; who is told of nothing to boot starts from its disk.
        if !self.hosts.is_filled() || !self.reservations.is_filled() {
            return None;
        }
        let found = self.found(mac)?;
        Some(Reservation { mac, addressing: addressing(&found), boot: self.boot(&found) })
    }

    fn asked(&self, asked: &Asked) {
        let Some(reservation) = self.found(asked.mac) else { return };
        self.sightings.asked(&reservation, asked);
        // What was for another server, or got no answer, says nothing of a boot.
        if !asked.boot && asked.given.is_none() {
            return;
        }
        let claim = reservation.labels().get(labels::CLAIM_ID);
        if let (Some(claim), Some(host)) = (claim, self.host_of(&reservation)) {
            self.witness.saw(&host, claim, "AskedForAddress", said(asked));
        }
    }

    fn is_looked_for(&self, mac: Mac) -> bool {
        // Before they are all known it may be one that has a reservation.
        let Some(discovery) = self.discovery.as_ref().filter(|_| self.reservations.is_filled()) else {
            return false;
        };
        discovery.looks_for(mac)
    }

    fn stranger(&self, stranger: &Stranger) {
        if let Some(discovery) = &self.discovery {
            discovery.met(stranger);
        }
    }

    fn counted(&self, what: Counted) {
        self.metrics.dhcp_counted(what);
    }
}

fn said(asked: &Asked) -> String {
    let who = who(asked.client.loader);
    let told = if asked.boot { "was told what to boot" } else { "got one" };
    format!("{who} asked for an address with {}, and {told}", asked.mac)
}

/// What runs on a machine that asks.
pub(super) const fn who(loader: Loader) -> &'static str {
    match loader {
        Loader::Pxe => "Its firmware (PXE)",
        Loader::Http => "Its firmware (HTTP boot)",
        Loader::Ipxe { .. } => "iPXE",
        Loader::System => "What runs on it",
    }
}

fn addressing(reservation: &DHCPReservation) -> Option<Addressing> {
    let spec = &reservation.spec;
    let parse = |text: &String| text.parse::<Ipv4Addr>().ok();
    Some(Addressing {
        address: spec.ip_address.as_ref().and_then(parse)?,
        prefix: spec.prefix.and_then(|prefix| u8::try_from(prefix).ok())?,
        gateway: spec.gateway.as_ref().and_then(parse),
        name_servers: spec.dns.iter().filter_map(parse).collect(),
        time_servers: spec.ntp.iter().filter_map(parse).collect(),
        host_name: spec.hostname.clone(),
        lease: spec
            .lease_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(LEASE, Duration::from_secs),
    })
}

#[cfg(test)]
#[path = "register_tests.rs"]
mod tests;
