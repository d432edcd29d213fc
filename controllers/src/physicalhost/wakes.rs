//! Which hosts are looked at because of something else: those that wait for what they boot from the network.

use std::{collections::HashMap, sync::Arc};

use beskar7_api::{HostBootConfiguration, host_boot_configuration::BootConfigurationState};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::trail::Trails;
use crate::{
    caches::Feeds,
    watch::{Cache, Key},
};

/// Turns changes of configurations into the keys of their hosts.
pub struct Wakes {
    changes: UnboundedReceiver<Key>,
    configurations: Cache<HostBootConfiguration>,
    /// What each said last.
    said: HashMap<Key, Option<BootConfigurationState>>,
    trails: Arc<Trails>,
    hosts: UnboundedSender<Key>,
}

impl Wakes {
    pub(super) fn new(feeds: &Feeds, trails: Arc<Trails>, hosts: UnboundedSender<Key>) -> Self {
        let (changes, configurations) =
            (feeds.boot_configurations.changes(), feeds.boot_configurations.cache());
        Self { changes, configurations, said: HashMap::new(), trails, hosts }
    }

    /// Does so until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        while let Some(Some(key)) = stop.run_until_cancelled(self.changes.recv()).await {
            let state =
                self.configurations.get(&key).map(|found| found.status.as_ref().and_then(|s| s.state));
            let before = match state {
                Some(state) => self.said.insert(key.clone(), state),
                None => self.said.remove(&key),
            };
            if before != state {
                // The host itself has not changed: it would be spared.
                self.trails.forget(&key);
                // Nobody listens any more only when everything ends.
                let _ended = self.hosts.send(key);
            }
        }
    }
}
