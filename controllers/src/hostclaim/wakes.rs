//! Which claims are looked at when they change themselves.

use std::sync::Arc;

use beskar7_api::HostClaim;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::{
    caches::Feeds,
    claim::{Register, saw},
    watch::{Cache, Key},
};

/// Turns changes of claims into their keys, and notes what they intend.
pub struct Wakes {
    claims: UnboundedReceiver<Key>,
    cache: Cache<HostClaim>,
}

impl Wakes {
    /// Listens to these feeds.
    #[must_use]
    pub fn new(feeds: &Feeds) -> Self {
        Self { claims: feeds.claims.changes(), cache: feeds.claims.cache() }
    }

    /// Does so until `stop`.
    pub async fn run(mut self, register: Arc<Register>, keys: UnboundedSender<Key>, stop: CancellationToken) {
        while let Some(Some(key)) = stop.run_until_cancelled(self.claims.recv()).await {
            saw(&self.cache, &register, &key);
            // Nobody listens any more only when everything ends.
            let _ended = keys.send(key);
        }
    }
}
