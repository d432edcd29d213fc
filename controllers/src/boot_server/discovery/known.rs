//! Which addresses belong to hosts, and which discovered machines wait to be accepted.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use beskar7_api::PhysicalHost;
use beskar7_boot::dhcp::Mac;
use beskar7_core::host::discovery::{is_candidate, may_be_begun_again, turned_out_to_be};

use crate::watch::Key;

/// How a machine stands that has no reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// No host has its address.
    Unknown,
    /// It is written down and was not inspected: it may be, now that it asks.
    NotInspected(Key),
    /// It is somebody's, or there is nothing to be done for it.
    Known,
}

/// What is known of all hosts.
#[derive(Debug)]
pub(super) struct Known {
    /// Where candidates are.
    namespace: String,
    of_mac: HashMap<Mac, Vec<Key>>,
    macs_of: HashMap<Key, Vec<Mac>>,
    candidates: HashSet<Key>,
    /// The known host that a candidate's machine turned out to be.
    same_machine: HashMap<Key, String>,
    /// How many candidates turned out to be each of those.
    same_machines: HashMap<String, usize>,
    /// Those of them that may be inspected when they ask with this address.
    not_inspected: HashMap<Key, Mac>,
    /// Hosts that run something, and of which no address is known: who asks may be one of them.
    without_address: HashSet<Key>,
}

impl Known {
    pub(super) fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            of_mac: HashMap::new(),
            macs_of: HashMap::new(),
            candidates: HashSet::new(),
            same_machine: HashMap::new(),
            same_machines: HashMap::new(),
            not_inspected: HashMap::new(),
            without_address: HashSet::new(),
        }
    }

    /// A host that runs something, and of which no address is known.
    pub(super) fn without_address(&self) -> Option<&Key> {
        self.without_address.iter().next()
    }

    /// How many have a place among those that wait to be accepted. One for each known host that asked with another address
    /// needs none: there are no more of those than hosts. A second one counts: whoever knows the addresses of a host could
    /// say for any number of machines that they are that one.
    pub(super) fn candidates(&self) -> usize {
        self.candidates.len().saturating_sub(self.same_machines.len())
    }

    pub(super) fn standing(&self, mac: Mac) -> Standing {
        match self.of_mac.get(&mac).map(Vec::as_slice) {
            None | Some([]) => Standing::Unknown,
            Some([host]) if self.not_inspected.get(host) == Some(&mac) => {
                Standing::NotInspected(host.clone())
            }
            // Where two hosts have it, people have to say whose it is.
            Some(_) => Standing::Known,
        }
    }

    /// A host is this now, or is gone.
    pub(super) fn saw(&mut self, key: &Key, host: Option<&PhysicalHost>) {
        self.forget(key);
        let Some(host) = host else { return };
        let (boots_with, macs) = addresses(host);
        for mac in &macs {
            self.of_mac.entry(*mac).or_default().push(key.clone());
        }
        if !macs.is_empty() {
            self.macs_of.insert(key.clone(), macs);
        } else if runs_something(host) {
            self.without_address.insert(key.clone());
        }
        if key.0 != self.namespace || !is_candidate(host) {
            return;
        }
        self.candidates.insert(key.clone());
        if let Some(known) = turned_out_to_be(host) {
            *self.same_machines.entry(known.to_owned()).or_default() += 1;
            self.same_machine.insert(key.clone(), known.to_owned());
        }
        if let Some(mac) = boots_with.filter(|_| may_be_begun_again(host)) {
            self.not_inspected.insert(key.clone(), mac);
        }
    }

    fn forget(&mut self, key: &Key) {
        self.candidates.remove(key);
        if let Some(known) = self.same_machine.remove(key)
            && let Entry::Occupied(mut count) = self.same_machines.entry(known)
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        self.not_inspected.remove(key);
        self.without_address.remove(key);
        for mac in self.macs_of.remove(key).unwrap_or_default() {
            if let Some(keys) = self.of_mac.get_mut(&mac) {
                keys.retain(|other| other != key);
                if keys.is_empty() {
                    self.of_mac.remove(&mac);
                }
            }
        }
    }
}

fn runs_something(host: &PhysicalHost) -> bool {
    let spec = &host.spec;
    spec.externally_provisioned || spec.consumer_ref.is_some() || spec.claim_id.is_some()
}

/// The address that a host boots with, where that is written down, and all that it has, each once.
fn addresses(host: &PhysicalHost) -> (Option<Mac>, Vec<Mac>) {
    let boots_with = host.spec.boot_mac_address.as_deref().and_then(Mac::parse);
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    let nics = details.map(|details| details.hardware.nics.as_slice()).unwrap_or_default();
    // What an agent on a stranger says that it has is not taken for anybody's.
    let nics = if is_candidate(host) { &[] } else { nics };
    let told = nics.iter().filter_map(|nic| nic.mac_address.as_deref().and_then(Mac::parse));
    let mut all: Vec<Mac> = boots_with.into_iter().chain(told).collect();
    all.sort_unstable();
    all.dedup();
    (boots_with, all)
}
