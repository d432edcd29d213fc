//! What a BMC told, or why it told nothing.

use beskar7_api::{
    address::MachineAddress,
    conditions::host,
    hardware::{Architecture, Disk, Firmware, Hardware, Nic},
    physical_host::{BmcDetails, HardwareStatus},
};

use super::plan::Seen;
use crate::conditions::{Finding, Truth};

/// What went wrong with a BMC or a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Why, in one word that scripts know.
    pub reason: &'static str,
    /// Why, and what to do.
    pub message: String,
    /// Whether it may pass by itself. What does not waits for a person.
    pub passes: bool,
}

impl Trouble {
    pub(super) fn finding(&self) -> Finding {
        Finding { truth: Truth::False, reason: self.reason, message: self.message.clone() }
    }
}

/// What came of asking a BMC.
#[derive(Debug, Clone, PartialEq)]
pub enum Contact {
    /// It was not asked: the settings are not complete.
    NotTried,
    /// It did not answer as it should.
    Failed(Trouble),
    /// It answered.
    Answered(Box<Sighting>),
}

/// What a BMC told.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// What matters for the next step.
    pub seen: Seen,
    /// The machine, as far as its summary tells.
    pub hardware: Hardware,
    /// Its health.
    pub health: HardwareStatus,
    /// The BMC itself, where it was read.
    pub bmc: Option<BmcDetails>,
    /// Its parts, where they were read: that takes many requests, and is done seldom.
    pub parts: Option<Parts>,
}

/// What a machine is made of, part by part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// The maker's name for the processor.
    pub cpu_model: Option<String>,
    /// The processors' architecture.
    pub architecture: Option<Architecture>,
    /// How many modules hold the memory.
    pub memory_modules: Option<i32>,
    /// The disks.
    pub storage: Vec<Disk>,
    /// The network interfaces.
    pub nics: Vec<Nic>,
    /// Firmware versions.
    pub firmware: Vec<Firmware>,
    /// The addresses that the running system has, where that tells the BMC.
    pub addresses: Vec<MachineAddress>,
}

impl Contact {
    /// What the condition RedfishConnectionReady says.
    pub(super) fn finding(&self) -> Finding {
        match self {
            Self::NotTried => Finding {
                truth: Truth::Unknown,
                reason: host::NOT_PROBED,
                message: "The connection settings are complete; the BMC has not been contacted".to_owned(),
            },
            Self::Failed(trouble) => trouble.finding(),
            Self::Answered(_) => {
                Finding { truth: Truth::True, reason: host::CONNECTED, message: String::new() }
            }
        }
    }
}

impl Sighting {
    /// Whether the machine says that it needs repair.
    pub(super) fn is_unhealthy(&self) -> bool {
        let critical = |health: &Option<String>| health.as_deref() == Some("Critical");
        critical(&self.health.health) || critical(&self.health.health_rollup)
    }
}
