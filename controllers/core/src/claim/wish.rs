//! What a consumer wants.

use std::collections::BTreeSet;

use beskar7_api::{
    boot::BootParameterMechanism,
    physical_host::Reservation,
    selector::{HardwareRequirements, LabelSelector},
};

/// What a consumer wants of its host. Made from a Beskar7Machine with its Machine and cluster, or from a HostClaim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wish<'a> {
    /// Who wishes, as text that stays the same: it only decides between hosts that are equally good.
    pub consumer: &'a str,
    /// For whom: a cluster, a tenant. It gets back what it had last, where that is as good.
    pub owner: Option<&'a str>,
    /// The namespaces whose hosts it may have, as policies and the wish itself say.
    pub namespaces: &'a BTreeSet<String>,
    /// The labels of the pool: other hosts do not exist for this wish.
    pub pool: Option<&'a LabelSelector>,
    /// The one host that will do, by name.
    pub host: Option<&'a str>,
    /// The labels that a host must have.
    pub selector: Option<&'a LabelSelector>,
    /// The hardware that a host must have.
    pub requirements: Option<&'a HardwareRequirements>,
    /// The zone that a host must be in.
    pub zone: Option<&'a str>,
    /// The ways by which kernel parameters may reach its kernel; nothing where it needs none.
    pub parameters_by: Option<&'a [BootParameterMechanism]>,
    /// Whether it boots from the network.
    pub from_network: bool,
    /// How it stands with hosts that are kept for somebody.
    pub reservation: ReservationRule<'a>,
}

/// How a wish stands with hosts that are kept for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationRule<'a> {
    /// Only hosts that are kept for nobody.
    Unreserved,
    /// Only a host that is kept for this one: a cluster's first control-plane machine, whose address is the
    /// cluster's endpoint.
    Only(&'a Reservation),
}
