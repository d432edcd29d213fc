//! Dell PowerEdge with an iDRAC9: in what it differs from a plain BMC.

use std::time::Duration;

use super::habits::*;
use super::plain::{PLAIN, RESET_TYPES, SLOWER, TARGETS};
use crate::machine::boot::Target;
use crate::machine::power::ResetType;

pub(super) static PROFILE: Profile = Profile {
    name: "dell-idrac",
    names: NAMES,
    schemas: SCHEMAS,
    media: MediaHabits {
        // Seen on iDRAC9: slots under Systems and under Managers, of different names; either can be used. The manager's
        // CD is the system's slot 1.
        slots: &[
            SlotKind::usable(Home::System, "1", &["CD", "DVD", "USBStick"]),
            // Seen on iDRAC9 and iDRAC10: a machine does not boot from slot 2.
            SlotKind::usable(Home::System, "2", &["CD", "DVD", "USBStick"]).never_booted(),
            SlotKind::usable(Home::Manager, "CD", &["CD", "DVD"]).also(0),
            SlotKind::usable(Home::Manager, "RemovableDisk", &["USBStick"]),
        ],
        // Seen on iDRAC9: "Inserted" for a while after an eject, and an insert meanwhile is answered with 500.
        lingers: Duration::from_secs(2),
        ..PLAIN.media
    },
    boot: BootHabits {
        targets: TARGETS.and(&[Target::Floppy, Target::Cd, Target::UefiTarget, Target::UefiHttp]),
        // Seen on iDRAC9: the mode is a BIOS setting, changed by a job whose task is 404 at first.
        mode: BootMode::ByJob { hidden: Duration::from_millis(500), takes: Duration::from_secs(2) },
        ..PLAIN.boot
    },
    reset: ResetHabits {
        types: RESET_TYPES.and(&[ResetType::PushPowerButton, ResetType::Nmi, ResetType::PowerCycle]),
        // Seen on iDRAC9 and iDRAC10: 409 for the state that the machine is in already.
        refuses_same_state: true,
        // Seen on iDRAC10: On is refused just after power went off.
        rests: Duration::from_secs(1),
        // Power is On or Off, nothing between.
        shows_transitions: false,
        ..PLAIN.reset
    },
    // Seen on iDRAC9: no ETags worth the name.
    etag: ETagHabits { form: ETagForm::None, if_match: IfMatch::Ignored },
    // Seen on iDRAC9: eight sessions, and no more.
    session: SessionHabits { max: 8, ..PLAIN.session },
    timing: SLOWER,
    ..PLAIN
};

const NAMES: Names = Names {
    vendor: Some("Dell"),
    product: Some("Integrated Dell Remote Access Controller"),
    oem: Some("Dell"),
    redfish_version: "1.17.0",
    system: "System.Embedded.1",
    manager: "iDRAC.Embedded.1",
    chassis: "System.Embedded.1",
    storage: "RAID.Integrated.1-1",
    manufacturer: "Dell Inc.",
    model: "PowerEdge R650",
    sku: "B7S1MD1",
    bios: "1.12.1",
    manager_model: "15G Monolithic",
    firmware: "7.00.60.00",
    processor: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
    processor_vendor: "Intel",
    ..PLAIN.names
};

const SCHEMAS: Schemas =
    Schemas { root: "v1_11_0", system: "v1_18_0", manager: "v1_15_0", media: "v1_4_0", ..PLAIN.schemas };
