//! What was read of a consumer and of the host that its intent names.

use std::sync::Arc;

use beskar7_api::PhysicalHost;
use beskar7_core::claim::{Candidate, Intended, Order};

use crate::{watch::Key, write::Written};

/// What was read: the consumer and the host that its intent names.
pub(crate) struct View<K> {
    pub(crate) object: Arc<K>,
    pub(crate) host: Found,
    pub(crate) order: Order,
    /// Whether it was read for the step that comes next; what comes from caches is good enough for none that writes.
    pub(crate) live: bool,
}

/// The host that an intent names.
pub(crate) enum Found {
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

    /// The host, where it is there.
    pub(crate) fn host(&self) -> Option<&PhysicalHost> {
        match self {
            Self::There(host) => Some(host),
            Self::NotLooked | Self::Gone(_) => None,
        }
    }
}

impl<K> View<K> {
    /// The same with the consumer as it was written; nothing, when somebody was faster.
    pub(crate) fn with_object(self, written: Written<K>) -> Option<Self> {
        match written {
            Written::To(object) => {
                Some(Self { object: Arc::from(object), order: Order::HostThenConsumer, ..self })
            }
            Written::Stale => None,
        }
    }

    /// The same with the host as it was written; nothing, when somebody was faster.
    pub(crate) fn with_host(self, written: Written<PhysicalHost>) -> Option<Self> {
        match written {
            Written::To(host) => {
                let host = Found::There(Arc::from(host));
                Some(Self { host, order: Order::ConsumerThenHost, ..self })
            }
            Written::Stale => None,
        }
    }
}
