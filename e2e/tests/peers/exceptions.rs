//! What a peer can't do, or complains of, each with its reason. A list that is not exact fails its test: what is not
//! listed must work, and what is listed must still fail, in the way that is written here.

use crate::scenario::Scenario;

/// A scenario of the client that sushy-tools' emulator can't play.
pub struct Unplayed {
    pub scenario: Scenario,
    /// What the scenario says of it.
    pub said: &'static str,
    pub reason: &'static str,
}

/// sushy-tools 2.2.0 with its fake driver.
pub const EMULATOR: &[Unplayed] = &[
    Unplayed {
        scenario: Scenario::BootOnce,
        said: "armed: Some(\"Continuous\")",
        reason: "it shows and keeps every boot override as Continuous",
    },
    Unplayed {
        scenario: Scenario::ClearBoot,
        said: "clearing: ",
        reason: "it refuses a change of the override that names no target, and has no target that means none",
    },
    Unplayed {
        scenario: Scenario::BootIsoAndClean,
        said: "clearing: ",
        reason: "the last step takes the override back, which it can't; the steps before it work",
    },
    Unplayed {
        scenario: Scenario::Processors,
        said: "processors: []",
        reason: "its fake driver has no processors",
    },
    Unplayed {
        scenario: Scenario::Memory,
        said: "memory: []",
        reason: "it links to memory modules and has none",
    },
    Unplayed { scenario: Scenario::Drives, said: "drives: []", reason: "its fake driver has no storage" },
    Unplayed {
        scenario: Scenario::Firmware,
        said: "firmware: []",
        reason: "it links to a firmware inventory and has none",
    },
];

/// A step of the client sushy (`e2e/tools/python/drive.py`) that does not work on a profile of the simulator.
pub struct Unstepped {
    pub profile: &'static str,
    pub step: &'static str,
    /// What sushy says of it.
    pub said: &'static str,
    pub reason: &'static str,
}

/// sushy 5.14.0: it drives all six profiles through every step.
pub const SUSHY: &[Unstepped] = &[];

/// What DMTF's service validator finds wrong with the simulator's plain profile, warnings included.
pub struct Misfit {
    pub resource: &'static str,
    pub property: &'static str,
    /// What the validator says of it.
    pub said: &'static str,
    pub reason: &'static str,
}

/// redfish-service-validator 3.1.8.
pub const SERVICE_VALIDATOR: &[Misfit] = &[
    Misfit {
        resource: "/redfish/v1/Systems/System-1/Storage/Storage-1/Drives/Disk1",
        property: "/@odata.id",
        said: "Deprecated URI Warning",
        reason: "drives stand below their storage, as on the machines that the profiles imitate",
    },
    Misfit {
        resource: "/redfish/v1/Systems/System-1/Storage/Storage-1/Drives/Disk2",
        property: "/@odata.id",
        said: "Deprecated URI Warning",
        reason: "drives stand below their storage, as on the machines that the profiles imitate",
    },
];
