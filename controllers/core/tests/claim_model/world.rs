//! The state that is searched: objects as the API server holds them, machines as they really are, and what a slow
//! manager carries in its head.

use beskar7_api::HostState;

use crate::search::Extent;

/// A claim ID. Only whether two are the same matters: they are renamed in the order in which they appear.
pub type Id = u8;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct World {
    pub hosts: Vec<Host>,
    pub consumers: Vec<Consumer>,
    pub laggards: Vec<Laggard>,
    /// How many more accidents may happen.
    pub faults: u8,
    /// Whether the only accident is that a host is replaced.
    pub only_replaced: bool,
    /// Whether consumers keep to the machine that ran for them.
    pub settling: bool,
    /// How many more times a consumer may want something else of its machine, as a HostClaim does whose image is changed
    /// or removed.
    pub renewals: u8,
    /// Claims whose machine their consumer wants to be something else.
    pub unwanted: Vec<Id>,
    /// Somebody edited an intent, or tore a consumer out with its finalizer: a person may have to help.
    pub excused: bool,
    /// Something happened that never may.
    pub wrong: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host {
    pub there: bool,
    pub deleting: bool,
    /// `spec.consumerRef`.
    pub consumer: Option<Reference>,
    /// `spec.claimID`.
    pub claim: Option<Id>,
    /// `status.claimID`.
    pub machine_of: Option<Id>,
    /// `status.state`; the number is what a Rust enum has for it.
    pub state: Option<State>,
    pub released: Option<Id>,
    pub fence: Option<Id>,
    /// The annotation that says for which claim the machine was turned on.
    pub mark: Option<Id>,
    /// What the machine really runs: this claim's, of this birth of its consumer.
    pub dirty: Option<(Id, u8)>,
    /// Whether its disks hold what somebody left there, and were not wiped since.
    pub written: bool,
    /// A person released it, not its consumer.
    pub by_person: bool,
    /// Its status was lost or its whole spec replaced. Not both: then nobody on earth knows whose the machine is.
    pub hurt: bool,
}

/// As much of [`HostState`] as claims tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Available,
    Claimed,
    Deprovisioning,
}

impl State {
    pub fn real(self) -> HostState {
        match self {
            Self::Available => HostState::Available,
            Self::Claimed => HostState::Claimed,
            Self::Deprovisioning => HostState::Deprovisioning,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    pub who: usize,
    pub uid: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer {
    pub life: Life,
    /// Changes with every move and every new creation.
    pub uid: u8,
    /// Changes with every new creation only.
    pub birth: u8,
    pub deleting: bool,
    pub finalizer: bool,
    /// Its machine has been running; it says so itself (`spec.providerID`).
    pub settled: bool,
    /// A person said that it may go before its host is clean.
    pub forced: bool,
    /// Its intent is a copy of another consumer's.
    pub copied: bool,
    pub intent: Intent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Life {
    There,
    /// On its way from one management cluster to another.
    Moving,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    None,
    /// Somebody edited it, and nobody can read it.
    Garbled,
    Of {
        host: usize,
        id: Id,
        renews: Option<Id>,
        given_up: bool,
    },
}

impl Intent {
    pub fn id(self) -> Option<Id> {
        match self {
            Self::None | Self::Garbled => None,
            Self::Of { id, .. } => Some(id),
        }
    }

    pub fn host(self) -> Option<usize> {
        match self {
            Self::None | Self::Garbled => None,
            Self::Of { host, .. } => Some(host),
        }
    }

    pub fn renews(self) -> Option<Id> {
        match self {
            Self::None | Self::Garbled => None,
            Self::Of { renews, .. } => renews,
        }
    }
}

/// A manager that is slow, or was the leader once: it has looked, or decided, and acts at any time later, or never.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Laggard {
    Idle,
    /// It has seen this host, for this consumer.
    SawHost {
        who: usize,
        at: usize,
        host: Host,
        fresh: bool,
    },
    /// Only in the mutant that reads in the wrong order: it has seen this consumer.
    SawConsumer {
        who: usize,
        consumer: Consumer,
    },
    /// It has decided to write this. `fresh`: the object is still the one that it saw.
    Writes {
        write: Write,
        fresh: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Write {
    /// On a consumer, at the version that was read.
    Intent { who: usize, intent: Intent },
    /// On a consumer, at the version that was read: a new claim on the host that it has.
    Renew { who: usize, intent: Intent },
    /// On a consumer, at the version that was read: the intent goes, and the finalizer.
    LetGo { who: usize },
    /// On a consumer, at the version that was read: its machine has been running.
    Settle { who: usize },
    /// On a host, at the version that was read. `renews`: what its consumer has there, and gives up for this.
    Bind { at: usize, by: Reference, id: Id, renews: Option<Id> },
    /// On a host, at the version that was read.
    Release { at: usize, id: Id },
    /// On a host, at any version.
    Fence { at: usize, id: Id },
    /// On a host's status. Only the mutant that ignores its version is slow here: at the version that was read, to
    /// write later is to decide later.
    Status { at: usize, machine_of: Option<Id>, state: Option<State> },
}

impl World {
    pub fn new(extent: Extent) -> Self {
        let Extent { consumers, hosts, laggards, faults, only_replaced, settling, renewals } = extent;
        Self {
            hosts: vec![Host::new(); hosts],
            consumers: vec![Consumer::new(0, 0); consumers],
            laggards: vec![Laggard::Idle; laggards],
            faults,
            only_replaced,
            settling,
            renewals,
            unwanted: Vec::new(),
            excused: false,
            wrong: None,
        }
    }

    /// The consumer that stands by a claim: not absent for good, and not about to leave it.
    pub fn stands_by(&self, id: Id) -> Option<usize> {
        self.consumers.iter().position(|consumer| {
            let with_it = match consumer.intent {
                Intent::Of { id: mine, given_up, .. } => mine == id && !given_up,
                Intent::None | Intent::Garbled => false,
            };
            with_it && consumer.life != Life::Gone && !consumer.deleting && !consumer.copied
        })
    }
}

impl Host {
    pub fn new() -> Self {
        Self {
            there: true,
            deleting: false,
            consumer: None,
            claim: None,
            machine_of: None,
            state: Some(State::Available),
            released: None,
            fence: None,
            mark: None,
            dirty: None,
            written: false,
            by_person: false,
            hurt: false,
        }
    }

    /// Without what nobody can read in it.
    pub fn as_written(&self) -> Self {
        Self { dirty: None, written: false, by_person: false, hurt: false, ..self.clone() }
    }

    pub fn gone() -> Self {
        Self { there: false, state: None, ..Self::new() }
    }
}

impl Consumer {
    pub fn new(uid: u8, birth: u8) -> Self {
        Self {
            life: Life::There,
            uid,
            birth,
            deleting: false,
            finalizer: false,
            settled: false,
            forced: false,
            copied: false,
            intent: Intent::None,
        }
    }
}
