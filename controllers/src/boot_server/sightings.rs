//! Writes down when a host was last seen to ask, as what, and which address it was given: into its DHCPReservation, and
//! not more often than anybody would look.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use beskar7_api::{DHCPReservation, dhcp_reservation::DHCPReservationStatus};
use beskar7_boot::dhcp::{Architecture, Asked};
use kube::{
    Api, Client, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::task::TaskTracker;

use crate::{
    causes::causes,
    clock,
    watch::{Key, key},
};

/// What says the same as before is written again after so long.
const AGAIN: Duration = Duration::from_secs(60);
/// Nothing is written more often: who asks may be anybody who knows the address.
const SOONEST: Duration = Duration::from_secs(5);
/// So many wait to be written; of more, nothing is.
const MOST_WAITING: usize = 4096;
/// So many are written at once.
const AT_ONCE: usize = 8;
/// So many are remembered; then all are forgotten, and each is written once more.
const MOST_REMEMBERED: usize = 65_536;

/// What a host was seen to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    architecture: Option<Architecture>,
    given: Option<Ipv4Addr>,
}

/// What was written last.
#[derive(Debug, Clone, Copy)]
struct Written {
    /// Nothing where that failed.
    seen: Option<Seen>,
    at: Instant,
}

/// Writes sightings; cheap to clone.
#[derive(Clone)]
pub(super) struct Sightings {
    client: Client,
    written: Arc<Mutex<HashMap<Key, Written>>>,
    turns: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Sightings {
    pub(super) fn new(client: Client) -> Self {
        let (written, tasks) = (Arc::default(), TaskTracker::new());
        Self { client, written, turns: Arc::new(Semaphore::new(AT_ONCE)), tasks }
    }

    /// A host asked. It is written in the background; what can't be is written when it asks again, and no sooner
    /// than anything else.
    pub(super) fn asked(&self, reservation: &Arc<DHCPReservation>, asked: &Asked) {
        let seen = Seen { architecture: asked.client.architecture, given: asked.given };
        if self.tasks.len() >= MOST_WAITING || !self.is_news(key(reservation.as_ref()), seen) {
            return;
        }
        let status = DHCPReservationStatus {
            last_seen: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(clock::now())),
            last_architecture: seen.architecture.map(|architecture| name(architecture).to_owned()),
            address: seen.given.map(|given| given.to_string()),
            ..DHCPReservationStatus::default()
        };
        let (sightings, reservation) = (self.clone(), reservation.clone());
        self.tasks.spawn(async move { sightings.write(&reservation, status).await });
    }

    async fn write(&self, reservation: &DHCPReservation, status: DHCPReservationStatus) {
        let Ok(_turn) = self.turns.acquire().await else { return };
        let (namespace, name) = (reservation.namespace().unwrap_or_default(), reservation.name_any());
        let objects: Api<DHCPReservation> = Api::namespaced(self.client.clone(), &namespace);
        let DHCPReservationStatus { last_seen, last_architecture, address, .. } = status;
        let mut change = json!({ "lastSeen": last_seen });
        // What asks without saying what it is takes nothing back.
        for (field, value) in [("lastArchitecture", last_architecture), ("address", address)] {
            if let (Some(fields), Some(value)) = (change.as_object_mut(), value) {
                fields.insert(field.to_owned(), json!(value));
            }
        }
        let patch = Patch::Merge(json!({ "status": change }));
        match objects.patch_status(&name, &PatchParams::default(), &patch).await {
            Ok(_) => {}
            Err(kube::Error::Api(refusal)) if refusal.is_not_found() => {}
            Err(error) => {
                tracing::debug!(namespace, name, error = causes(&error), "what was seen can't be written");
                let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(last) = written.get_mut(&(namespace, name)) {
                    last.seen = None;
                }
            }
        }
    }

    fn is_news(&self, reservation: Key, seen: Seen) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= MOST_REMEMBERED {
            written.clear();
        }
        let known = written.get(&reservation);
        let said_lately = known
            .is_some_and(|last| last.at.elapsed() < if last.seen == Some(seen) { AGAIN } else { SOONEST });
        if said_lately {
            return false;
        }
        written.insert(reservation, Written { seen: Some(seen), at: Instant::now() });
        true
    }
}

pub(super) const fn name(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Bios => "x86 BIOS",
        Architecture::X64 => "x86-64 UEFI",
        Architecture::Arm64 => "arm64 UEFI",
    }
}

#[cfg(test)]
#[path = "sightings_tests.rs"]
mod tests;
