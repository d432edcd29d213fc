//! What a consumer wants of its host, kept by itself: whoever waits is remembered with it.

use std::collections::BTreeSet;

use beskar7_api::{
    boot::BootParameterMechanism,
    physical_host::Reservation,
    selector::{HardwareRequirements, LabelSelector},
};

use super::wish::{ReservationRule, Wish};

/// A [`Wish`] that borrows nothing; what its fields mean stands there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanting {
    /// Who wishes.
    pub consumer: String,
    /// For whom, as it is written on the host.
    pub owner: Option<String>,
    /// The namespaces whose hosts it may have.
    pub namespaces: BTreeSet<String>,
    /// The labels of the pool.
    pub pool: Option<LabelSelector>,
    /// The one host that will do.
    pub host: Option<String>,
    /// The labels that a host must have.
    pub selector: Option<LabelSelector>,
    /// The hardware that a host must have.
    pub requirements: Option<HardwareRequirements>,
    /// The zone that a host must be in.
    pub zone: Option<String>,
    /// The ways by which kernel parameters may reach its kernel.
    pub parameters_by: Option<&'static [BootParameterMechanism]>,
    /// Whether it boots from the network.
    pub from_network: bool,
    /// Whom the host must be kept for; nobody, where it is absent.
    pub reservation: Option<Reservation>,
}

impl Wanting {
    /// As the claim engine reads it.
    #[must_use]
    pub fn wish(&self) -> Wish<'_> {
        Wish {
            consumer: &self.consumer,
            owner: self.owner.as_deref(),
            namespaces: &self.namespaces,
            pool: self.pool.as_ref(),
            host: self.host.as_deref(),
            selector: self.selector.as_ref(),
            requirements: self.requirements.as_ref(),
            zone: self.zone.as_deref(),
            parameters_by: self.parameters_by,
            from_network: self.from_network,
            reservation: match &self.reservation {
                Some(mine) => ReservationRule::Only(mine),
                None => ReservationRule::Unreserved,
            },
        }
    }
}
