//! Power: what can be asked, and the phases that a machine goes through.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use super::boot::BootSource;
use crate::clock::{Moment, Pace};

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From the order to power.
    pub power_on: Duration,
    /// The firmware's self-test.
    pub post: Duration,
    /// From the boot loader to a running system.
    pub os_start: Duration,
    /// A graceful shutdown.
    pub shutdown: Duration,
    /// A forced one.
    pub force_off: Duration,
}

impl Timing {
    /// Everything at once, for tests of something else.
    pub const INSTANT: Self = Self {
        power_on: Duration::ZERO,
        post: Duration::ZERO,
        os_start: Duration::ZERO,
        shutdown: Duration::ZERO,
        force_off: Duration::ZERO,
    };

    /// The same, at this pace.
    #[must_use]
    pub fn at(self, pace: Pace) -> Self {
        Self {
            power_on: pace.of(self.power_on),
            post: pace.of(self.post),
            os_start: pace.of(self.os_start),
            shutdown: pace.of(self.shutdown),
            force_off: pace.of(self.force_off),
        }
    }
}

/// Redfish's `ResetType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub enum ResetType {
    On,
    ForceOn,
    ForceOff,
    Off,
    GracefulShutdown,
    GracefulRestart,
    ForceRestart,
    PowerCycle,
    PushPowerButton,
    Nmi,
}

const RESET_TYPES: [ResetType; 10] = [
    ResetType::On,
    ResetType::ForceOn,
    ResetType::ForceOff,
    ResetType::Off,
    ResetType::GracefulShutdown,
    ResetType::GracefulRestart,
    ResetType::ForceRestart,
    ResetType::PowerCycle,
    ResetType::PushPowerButton,
    ResetType::Nmi,
];

impl ResetType {
    /// Reads the Redfish name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        RESET_TYPES.into_iter().find(|r| r.name() == name)
    }

    /// The Redfish name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::ForceOn => "ForceOn",
            Self::ForceOff => "ForceOff",
            Self::Off => "Off",
            Self::GracefulShutdown => "GracefulShutdown",
            Self::GracefulRestart => "GracefulRestart",
            Self::ForceRestart => "ForceRestart",
            Self::PowerCycle => "PowerCycle",
            Self::PushPowerButton => "PushPowerButton",
            Self::Nmi => "Nmi",
        }
    }
}

/// What a machine made of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It is being done.
    Started,
    /// There is nothing to do: it is so already.
    AlreadyThere,
    /// The machine heard it and does nothing: nobody listens to a power button during POST.
    Unheard,
    /// The order was accepted by the BMC and never reached the machine.
    Stuck,
    /// The BMC refused it.
    Refused,
}

/// What follows when power has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Off,
    On,
}

/// Where a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Off,
    PoweringOn {
        until: Moment,
    },
    Post {
        since: Moment,
        until: Moment,
    },
    /// The firmware reads from a URL, or hardware that is not simulated starts: outside of this state machine.
    Loading {
        attempt: u64,
        source: BootSource,
        /// What is tried after it.
        others: VecDeque<BootSource>,
    },
    /// Until it runs; hardware that is not simulated says when that is.
    Starting {
        until: Option<Moment>,
        source: BootSource,
    },
    Running {
        source: BootSource,
    },
    /// In the firmware's menu, or nothing to boot.
    InFirmware,
    GoingDown {
        until: Moment,
        then: Then,
    },
}

impl Phase {
    /// When the phase ends by itself.
    pub(super) fn until(&self) -> Option<Moment> {
        match self {
            Self::PoweringOn { until } | Self::Post { until, .. } | Self::GoingDown { until, .. } => {
                Some(*until)
            }
            Self::Starting { until, .. } => *until,
            Self::Off | Self::Loading { .. } | Self::Running { .. } | Self::InFirmware => None,
        }
    }
}

/// Redfish's `PowerState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub enum PowerState {
    Off,
    PoweringOn,
    On,
    PoweringOff,
}

impl PowerState {
    /// The Redfish name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::PoweringOn => "PoweringOn",
            Self::On => "On",
            Self::PoweringOff => "PoweringOff",
        }
    }
}

/// Redfish's `BootProgress.LastState`, as far as a machine here goes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub enum BootProgress {
    None,
    PrimaryProcessorInitializationStarted,
    MemoryInitializationStarted,
    PCIResourceConfigStarted,
    SystemHardwareInitializationComplete,
    SetupEntered,
    OSBootStarted,
    OSRunning,
}

impl BootProgress {
    /// The Redfish name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::PrimaryProcessorInitializationStarted => "PrimaryProcessorInitializationStarted",
            Self::MemoryInitializationStarted => "MemoryInitializationStarted",
            Self::PCIResourceConfigStarted => "PCIResourceConfigStarted",
            Self::SystemHardwareInitializationComplete => "SystemHardwareInitializationComplete",
            Self::SetupEntered => "SetupEntered",
            Self::OSBootStarted => "OSBootStarted",
            Self::OSRunning => "OSRunning",
        }
    }
}

/// How far a self-test is, by the share of its time that has passed.
pub(super) fn post_progress(since: Moment, until: Moment, now: Moment) -> BootProgress {
    let whole = until.saturating_sub(since).as_millis().max(1);
    let done = now.saturating_sub(since).as_millis();
    match done * 4 / whole {
        0 => BootProgress::PrimaryProcessorInitializationStarted,
        1 => BootProgress::MemoryInitializationStarted,
        2 => BootProgress::PCIResourceConfigStarted,
        3.. => BootProgress::SystemHardwareInitializationComplete,
    }
}
