//! Which configurations are looked at when: those that change themselves, and that of a host that changes hands.

use std::collections::HashMap;

use beskar7_api::{HostBootConfiguration, PhysicalHost, boot::BootMode};
use beskar7_core::host::{errand::Errand, hold::Hold};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    watch::{Cache, Key, SpecChanges},
};

/// What a configuration depends on in its host: the claim or errand that it boots for, and how its firmware starts.
type BootsFor = (String, BootMode);

/// Turns changes into keys.
pub struct Wakes {
    /// Not what is written here: what does not answer would be asked again at once.
    configurations: SpecChanges<HostBootConfiguration>,
    hosts: UnboundedReceiver<Key>,
    known_hosts: Cache<PhysicalHost>,
    /// What each host was to boot for last, if it was.
    booting: HashMap<Key, Option<BootsFor>>,
    keys: UnboundedSender<Key>,
}

impl Wakes {
    /// Listens to these feeds; the keys come out at the other end of `keys`.
    #[must_use]
    pub fn new(feeds: &Feeds, keys: UnboundedSender<Key>) -> Self {
        Self {
            configurations: feeds.boot_configurations.spec_changes(),
            hosts: feeds.hosts.changes(),
            known_hosts: feeds.hosts.cache(),
            booting: HashMap::new(),
            keys,
        }
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let key = tokio::select! {
                () = stop.cancelled() => return,
                Some(key) = self.configurations.next() => key,
                // What is made for a host has its name.
                Some(key) = self.hosts.recv() => match self.changed_hands(&key) {
                    true => key,
                    false => continue,
                },
                else => return,
            };
            // Nobody listens any more only when everything ends.
            let _ended = self.keys.send(key);
        }
    }

    fn changed_hands(&mut self, key: &Key) -> bool {
        let Some(host) = self.known_hosts.get(key) else { return self.booting.remove(key).is_some() };
        let now = boots_for(&host);
        self.booting.insert(key.clone(), now.clone()) != Some(now)
    }
}

fn boots_for(host: &PhysicalHost) -> Option<BootsFor> {
    let claim = || match Hold::of(host) {
        Hold::Held { claim } => Some(claim.to_owned()),
        Hold::Free | Hold::Kept(_) | Hold::Leaving | Hold::Cleaned | Hold::OnHold => None,
    };
    let id = Errand::of(host).map(|errand| errand.id).or_else(claim)?;
    let mode = host.spec.boot.as_ref().map(|boot| boot.boot_mode).unwrap_or_default();
    Some((id, mode))
}

#[cfg(test)]
mod tests {
    use beskar7_api::annotations::{ERRAND, PAUSED};
    use serde_json::{Value, json};
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::watch::Feed;

    fn host(annotations: &Value, spec: &Value) -> PhysicalHost {
        let mut whole = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
            "metadata": {"name": "h", "namespace": "metal", "annotations": annotations},
            "spec": {"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}},
        });
        whole["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn a_configuration_is_looked_at_when_its_host_begins_to_boot_for_another_one_or_is_not_paused_any_more() {
        let errand = json!({ERRAND: "inspect e"});
        let pause = |mut annotations: Value| {
            annotations[PAUSED] = json!("");
            annotations
        };
        let held = |claim: &str, mode: &str| {
            json!({"claimID": claim, "consumerRef": {"kind": "HostClaim", "name": "c"},
                "boot": {"method": "PXE", "kernelArgs": [], "bootMode": mode}})
        };
        let (none, free) = (json!({}), json!({}));
        let mut wakes = Wakes {
            configurations: Feed::none().spec_changes(),
            hosts: unbounded_channel().1,
            known_hosts: Cache::empty(),
            booting: HashMap::new(),
            keys: unbounded_channel().0,
        };
        for (what, annotations, spec, expected) in [
            ("is new", none.clone(), &free, true),
            ("is as before", none.clone(), &free, false),
            ("goes on an errand", errand.clone(), &free, true),
            ("is paused on it", pause(errand.clone()), &free, true),
            ("goes on with it", errand, &free, true),
            ("is claimed", none.clone(), &held("1", "UEFI"), true),
            ("is as before", none.clone(), &held("1", "UEFI"), false),
            ("starts by another firmware", none.clone(), &held("1", "Legacy"), true),
            ("is claimed anew", none.clone(), &held("2", "Legacy"), true),
            ("is paused", pause(none.clone()), &held("2", "Legacy"), true),
            ("is not any more", none, &held("2", "Legacy"), true),
        ] {
            wakes.known_hosts = Cache::of(vec![host(&annotations, spec)]);
            let key = ("metal".to_owned(), "h".to_owned());
            assert_eq!(wakes.changed_hands(&key), expected, "{what}");
        }
    }
}
