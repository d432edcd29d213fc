//! What was read of a machine and of the host that its intent names.

use std::sync::Arc;

use beskar7_api::{Beskar7Machine, PhysicalHost, annotations};
use beskar7_core::claim::{self, Candidate, Intended, Intent};
use kube::ResourceExt as _;

use super::KIND;
use crate::{
    claim::ConsumerId,
    watch::{Key, key},
    write::Written,
};

/// What was read: the machine and the host that its intent names.
pub(super) struct View {
    pub(super) machine: Arc<Beskar7Machine>,
    pub(super) host: Found,
    pub(super) order: claim::Order,
    /// Whether it was read for the step that comes next; what comes from caches is good enough for none that writes.
    pub(super) live: bool,
}

/// The host that an intent names.
pub(super) enum Found {
    NotLooked,
    Gone(Key),
    There(Arc<PhysicalHost>),
}

impl Found {
    pub(super) fn intended(&self) -> Intended<'_> {
        match self {
            Self::NotLooked => Intended::NotLooked,
            Self::Gone((namespace, name)) => Intended::Gone { namespace, name },
            Self::There(host) => Intended::There(Candidate::new(host)),
        }
    }

    pub(super) fn new(key: Key, host: Option<Arc<PhysicalHost>>) -> Self {
        host.map_or(Self::Gone(key), Self::There)
    }
}

impl View {
    /// The same with the machine as it was written; nothing, when somebody was faster.
    pub(super) fn with_machine(self, written: Written<Beskar7Machine>) -> Option<Self> {
        match written {
            Written::To(machine) => {
                let order = claim::Order::HostThenConsumer;
                Some(Self { machine: Arc::from(machine), order, ..self })
            }
            Written::Stale => None,
        }
    }

    /// The same with the host as it was written; nothing, when somebody was faster.
    pub(super) fn with_host(self, written: Written<PhysicalHost>) -> Option<Self> {
        match written {
            Written::To(host) => {
                let order = claim::Order::ConsumerThenHost;
                Some(Self { host: Found::There(Arc::from(host)), order, ..self })
            }
            Written::Stale => None,
        }
    }
}

/// The machine, as the register knows it.
pub(super) fn id(machine: &Beskar7Machine) -> ConsumerId {
    ConsumerId { kind: KIND, key: key(machine) }
}

/// The host that a machine's intent names.
pub(super) fn intent(machine: &Beskar7Machine) -> Option<Key> {
    let intent = Intent::parse(machine.annotations().get(annotations::CLAIM)?)?;
    Some((intent.namespace, intent.host))
}
