//! What a BMC says of a system, in the words of decisions.

use beskar7_api::{
    hardware::{Cpu, Hardware, Memory},
    physical_host::{HardwareStatus, PowerState},
};
use beskar7_core::host::{
    contact::Sighting,
    plan::{Boot, Seen},
};
use beskar7_redfish::{BootProgress, Power, System, shown};

const MIB_PER_GIB: i64 = 1024;

/// What matters for the next step.
pub(super) fn seen(system: &System) -> Seen {
    Seen {
        power: match system.power() {
            Power::On => PowerState::On,
            Power::Off => PowerState::Off,
            Power::PoweringOn => PowerState::PoweringOn,
            Power::PoweringOff => PowerState::PoweringOff,
            Power::Paused => PowerState::Paused,
            Power::Unknown => PowerState::Unknown,
        },
        armed: system.override_enabled().map(|enabled| enabled == "Once"),
        boot: system.boot_progress().map(|progress| match progress {
            BootProgress::None => Boot::NotBegun,
            BootProgress::Firmware => Boot::Firmware,
            BootProgress::OsBootStarted | BootProgress::OsRunning => Boot::OperatingSystem,
        }),
        medium: None,
    }
}

/// All that one read of a system tells.
pub(super) fn sighting(system: &System) -> Sighting {
    // A status is shown to people, and has to fit into the API server.
    let text = |text: Option<&str>| text.map(shown);
    let summary = system.summary();
    let small = |number: Option<i64>| number.and_then(|number| i32::try_from(number).ok());
    let cpu = Cpu {
        sockets: small(summary.sockets),
        cores: small(summary.cores),
        threads: small(summary.threads),
        ..Cpu::default()
    };
    let memory =
        Memory { total_mib: summary.memory_gib.and_then(|gib| gib.checked_mul(MIB_PER_GIB)), modules: None };
    let hardware = Hardware {
        manufacturer: text(system.manufacturer()),
        model: text(system.model()),
        serial_number: text(system.serial_number()),
        uuid: text(system.uuid().as_deref()),
        cpu: (cpu != Cpu::default()).then_some(cpu),
        memory: (memory != Memory::default()).then_some(memory),
        ..Hardware::default()
    };
    let health = HardwareStatus {
        health: text(system.health()),
        health_rollup: text(system.health_rollup()),
        state: text(system.state()),
    };
    Sighting { seen: seen(system), hardware, health, bmc: None, parts: None }
}
