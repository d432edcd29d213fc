//! What the agent on a machine was started for, and the names of its orders.

use beskar7_agent_protocol::order::Thoroughness;
use beskar7_api::{PhysicalHost, conditions::host as reasons};

use crate::{
    delivery::claim_of,
    host::{
        errand::Errand,
        hold::{Booting, Hold, Progress},
    },
};

/// What it was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// To write an image to a disk.
    Install,
    /// To say what the machine is made of.
    Inspect,
    /// To wipe its disks.
    Clean(Thoroughness),
}

impl Work {
    const fn word(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Inspect => "inspect",
            Self::Clean(_) => "clean",
        }
    }

    /// What it does meanwhile: "it installs its image".
    #[must_use]
    pub const fn does(self) -> &'static str {
        match self {
            Self::Install => "installs the image",
            Self::Inspect => "looks at the machine",
            Self::Clean(_) => "wipes the disks",
        }
    }

    /// The same behind "done".
    #[must_use]
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Install => "installing the image",
            Self::Inspect => "looking at the machine",
            Self::Clean(_) => "wiping the disks",
        }
    }

    /// What it could not do, behind "could not".
    #[must_use]
    pub const fn failed_to(self) -> &'static str {
        match self {
            Self::Install => "install the image",
            Self::Inspect => "say what the machine is made of",
            Self::Clean(_) => "wipe the disks",
        }
    }

    /// The reason for that.
    #[must_use]
    pub const fn failure(self) -> &'static str {
        match self {
            Self::Install => reasons::INSTALLATION_FAILED,
            Self::Inspect => reasons::INSPECTION_FAILED,
            Self::Clean(_) => reasons::CLEANING_FAILED,
        }
    }

    /// How it is begun anew when it was tried too often.
    #[must_use]
    pub const fn anew(self) -> &'static str {
        match self {
            Self::Install => "Turned off by its BMC, it is begun anew",
            Self::Inspect | Self::Clean(_) => {
                "Once that is put right, take the annotation beskar7.infrastructure.cluster.x-k8s.io/errand off the host, and \
                 it is begun anew"
            }
        }
    }

    /// What may be running on a machine whose agent is not heard any more: it starts the machine anew when it is lost.
    #[must_use]
    pub const fn instead(self) -> &'static str {
        match self {
            Self::Install | Self::Inspect => "",
            Self::Clean(_) => ". What is on its disks may be running again: turn it off",
        }
    }

    /// How to go on without it.
    #[must_use]
    pub const fn otherwise(self) -> &'static str {
        match self {
            Self::Install => {
                "Or delete the machine or the claim that holds the host, so that another host is taken"
            }
            Self::Inspect => "Or set spec.inspect to false, and the host is Available without",
            Self::Clean(_) => {
                "Or wipe the disks yourself, and set the annotation beskar7.infrastructure.cluster.x-k8s.io/cleaned to the \
                 host's claimID"
            }
        }
    }
}

/// What the agent on a machine was started for, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// What for.
    pub work: Work,
    /// The mark of the machine that was turned on for it. Its claim is the errand's id, where it is one.
    pub booting: Booting,
}

impl Assignment {
    /// Of the machine that was turned on under this id, of a claim or an errand. A host that is paused, or whose
    /// consumer is to put its reference back, is left as it is.
    #[must_use]
    pub fn of(host: &PhysicalHost, id: &str) -> Option<Self> {
        Self::standing(host, id).filter(|_| !matches!(Hold::of(host), Hold::OnHold | Hold::Kept(_)))
    }

    /// The same, whether its host is left as it is or not.
    #[must_use]
    pub fn standing(host: &PhysicalHost, id: &str) -> Option<Self> {
        if let Some(errand) = Errand::standing(host).filter(|errand| errand.id == id) {
            return errand.armed.map(|booting| Self { work: errand.purpose.work(), booting });
        }
        let installs = host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some());
        if !installs || claim_of(host) != Some(id) {
            return None;
        }
        match Progress::of(host, id) {
            Progress::Booting(booting) => Some(Self { work: Work::Install, booting }),
            Progress::NotBegun | Progress::Seen => None,
        }
    }

    /// The name of its order. A machine that is armed again gets another one.
    #[must_use]
    pub fn order(&self) -> String {
        self.named(self.work.word())
    }

    /// The name of the order that follows it: to start anew, or to turn the machine off.
    #[must_use]
    pub fn farewell(&self) -> String {
        self.named(match self.work {
            Work::Install => "restart",
            Work::Inspect | Work::Clean(_) => "power-off",
        })
    }

    fn named(&self, word: &str) -> String {
        format!("{word}-{}-{}", self.booting.since.as_second(), self.booting.tries)
    }
}
