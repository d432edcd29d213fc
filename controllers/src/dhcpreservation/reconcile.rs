//! One look at one reservation: whether its host is there, and whether it is the one that is answered.

use std::time::Duration;

use beskar7_api::{DHCPReservation, PhysicalHost};
use beskar7_core::network_boot::{answered_before, reservation_standing};
use kube::{Client, runtime::controller::Action};

use super::NAME;
use crate::{
    clock,
    retry::Backoffs,
    upkeep::{Keeper, UpkeepError, keep},
    watch::{Cache, Key, key},
};

/// No reconcile may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    hosts: Cache<PhysicalHost>,
    reservations: Cache<DHCPReservation>,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(client: Client, hosts: Cache<PhysicalHost>, reservations: Cache<DHCPReservation>) -> Self {
        Self { client, hosts, reservations }
    }
}

impl Keeper for Context {
    type Kind = DHCPReservation;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(&self, reservation: &DHCPReservation, _: &Backoffs<Key>) -> Result<Action, UpkeepError> {
        look(reservation, self).await
    }
}

async fn look(reservation: &DHCPReservation, context: &Context) -> Result<Action, UpkeepError> {
    if reservation.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let (namespace, _) = key(reservation);
    let host = (namespace, reservation.spec.host_ref.name.clone());
    let is_there = context.hosts.get(&host).is_some();
    let all = context.reservations.all();
    let older = answered_before(reservation, all.iter().map(AsRef::as_ref)).map(|(shared, older)| {
        let (namespace, name) = key(older);
        (shared, format!("{namespace}/{name}"))
    });
    let older = older.as_ref().map(|(shared, older)| (*shared, older.as_str()));
    let status = reservation_standing(reservation, is_there, older, clock::now());
    keep(&context.client, reservation, &status).await
}
