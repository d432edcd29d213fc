//! What every claim needs: reads, writes, and what this process knows of claims.

use std::sync::Arc;

use beskar7_api::PhysicalHost;
use beskar7_core::claim::Order;
use kube::Client;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    ConsumerId, Register,
    claimant::{Claimant, id, intended_host},
    error::ClaimError,
    view::{Found, View},
    writes::Writes,
};
use crate::watch::{Cache, Key, key};

/// What every claim needs; one for all kinds, and cheap to clone.
#[derive(Clone)]
pub struct Claims {
    pub(crate) writes: Writes,
    pub(crate) register: Arc<Register>,
    pub(crate) hosts: Cache<PhysicalHost>,
    /// Hosts that somebody chose and gave up again.
    pub(crate) freed: UnboundedSender<Key>,
}

impl Claims {
    /// For consumers whose writes go through `client`. `namespace` is the only one that is looked into, where there is
    /// one; `freed` is told of hosts that somebody chose and gave up again.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: Option<String>,
        hosts: Cache<PhysicalHost>,
        register: Arc<Register>,
        freed: UnboundedSender<Key>,
    ) -> Self {
        Self { writes: Writes::new(client, namespace), register, hosts, freed }
    }

    /// What the caches have.
    pub(super) fn cached<K: Claimant>(&self, object: Arc<K>) -> View<K> {
        let host = match intended_host(object.as_ref()) {
            Some(host) => Found::new(host.clone(), self.hosts.get(&host)),
            None => Found::NotLooked,
        };
        View { object, host, order: Order::HostThenConsumer, live: false }
    }

    /// Reads both in this order; nothing, when the consumer is gone.
    pub(super) async fn read<K: Claimant>(
        &self,
        key: &Key,
        order: Order,
    ) -> Result<Option<View<K>>, ClaimError> {
        let Some(mut object) = self.writes.consumer::<K>(key).await? else { return Ok(None) };
        let Some(host_key) = intended_host(&object) else {
            return Ok(Some(View { object: Arc::new(object), host: Found::NotLooked, order, live: true }));
        };
        let host = self.writes.host(&host_key).await?;
        if order == Order::HostThenConsumer {
            match self.writes.consumer(key).await? {
                Some(again) => object = again,
                None => return Ok(None),
            }
        }
        let host = Found::new(host_key, host.map(Arc::new));
        Ok(Some(View { object: Arc::new(object), host, order, live: true }))
    }

    /// The hosts that name a consumer, as they were last seen; where all that is left is that, as they are.
    pub(super) async fn referring<K: Claimant>(
        &self,
        object: &K,
    ) -> Result<Vec<Arc<PhysicalHost>>, ClaimError> {
        if object.meta().deletion_timestamp.is_some() && intended_host(object).is_none() {
            let found = self.writes.referring(&key(object).1).await?;
            return Ok(found.into_iter().map(Arc::new).collect());
        }
        let named = self.register.held_by(&id(object));
        Ok(named.iter().filter_map(|host| self.hosts.get(host)).collect())
    }

    /// The host that it chose is free for others.
    pub(super) fn free_choice<K: Claimant>(&self, object: &K) {
        self.tell_freed(self.register.gives_up_choice(&id(object)));
    }

    /// The consumer is gone.
    pub(crate) fn forget(&self, consumer: &ConsumerId) {
        self.tell_freed(self.register.forget(consumer));
    }

    fn tell_freed(&self, host: Option<Key>) {
        if let Some(host) = host {
            // Nobody listens any more only when everything ends.
            let _ended = self.freed.send(host);
        }
    }
}
