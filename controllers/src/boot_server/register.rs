//! What machines are told by DHCP: by their reservations, and by what their hosts boot now.

use std::{
    collections::HashMap,
    hash::Hash,
    net::Ipv4Addr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use beskar7_api::{DHCPReservation, PhysicalHost, labels};
use beskar7_boot::{
    delivery::ArtifactName,
    dhcp::{Addressing, Asked, Boot, Counted, Kind, Loader, Mac, Register, Reservation, Stranger},
};
use beskar7_core::{
    delivery,
    host::belongings::belongs_to,
    network_boot::{CAPABILITY, Told, address_of, rank, starts_by_itself, told},
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
    macs: Index<Mac>,
    addresses: Index<Ipv4Addr>,
}

/// Which reservations want something.
struct Index<T> {
    all: HashMap<T, Vec<Key>>,
    last: HashMap<Key, T>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), last: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Index<T> {
    /// A reservation wants this now.
    fn set(&mut self, key: Key, wants: Option<T>) {
        let before = match wants {
            Some(wants) => self.last.insert(key.clone(), wants),
            None => self.last.remove(&key),
        };
        if before == wants {
            return;
        }
        if let Some(before) = before
            && let Some(keys) = self.all.get_mut(&before)
        {
            keys.retain(|other| *other != key);
            if keys.is_empty() {
                self.all.remove(&before);
            }
        }
        if let Some(wants) = wants {
            self.all.entry(wants).or_default().push(key);
        }
    }

    fn of(&self, wanted: T) -> Vec<Key> {
        self.all.get(&wanted).cloned().unwrap_or_default()
    }
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
        let found = self.reservations.get(&key);
        let mac = found.as_ref().and_then(|found| Mac::parse(&found.spec.host_mac));
        let address = found.as_deref().and_then(address_of);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.macs.set(key.clone(), mac);
        known.addresses.set(key, address);
    }

    fn found(&self, mac: Mac) -> Option<Arc<DHCPReservation>> {
        let keys = self.known.read().unwrap_or_else(PoisonError::into_inner).macs.of(mac);
        self.first_of(&keys)
    }

    /// Of several reservations that want the same, the one that has it: the oldest.
    fn first_of(&self, keys: &[Key]) -> Option<Arc<DHCPReservation>> {
        let all = keys.iter().filter_map(|key| self.reservations.get(key));
        let stays = all.filter(|found| found.metadata.deletion_timestamp.is_none());
        stays.reduce(|first, next| if rank(&next) < rank(&first) { next } else { first })
    }

    /// What a machine is given of addresses. Nothing where another one has its address already: two that have the same take
    /// each other's traffic.
    fn addressing(&self, reservation: &DHCPReservation) -> Option<Addressing> {
        let addressing = addressing(reservation)?;
        let keys = self.known.read().unwrap_or_else(PoisonError::into_inner).addresses.of(addressing.address);
        let first = self.first_of(&keys);
        first.is_none_or(|first| key(first.as_ref()) == key(reservation)).then_some(addressing)
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
        Some(Reservation { mac, addressing: self.addressing(&found), boot: self.boot(&found) })
    }

    fn asked(&self, asked: &Asked) {
        let Some(reservation) = self.found(asked.mac) else { return };
        self.sightings.asked(&reservation, asked);
        // What was for another server, or got no answer, says nothing of a boot.
        if !asked.boot && asked.given.is_none() && asked.kind != Kind::Decline {
            return;
        }
        let claim = reservation.labels().get(labels::CLAIM_ID);
        let Some((claim, host)) = claim.zip(self.host_of(&reservation)) else { return };
        let (reason, note) = said(asked);
        self.witness.saw(&host, claim, reason, note);
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

/// What people are told of it, and why.
fn said(asked: &Asked) -> (&'static str, String) {
    let (who, mac) = (who(asked.client.loader), asked.mac);
    let told = match asked.kind {
        Kind::Decline => {
            let note = format!("{who} ({mac}) declined its address: something else on its network has it");
            return ("DeclinedAddress", note);
        }
        Kind::Discover | Kind::Request | Kind::Inform | Kind::Release if asked.boot => {
            "was told what to boot"
        }
        Kind::Discover | Kind::Request | Kind::Inform | Kind::Release => "got one",
    };
    ("AskedForAddress", format!("{who} asked for an address with {mac}, and {told}"))
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
