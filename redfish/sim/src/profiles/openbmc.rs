//! OpenBMC, as on an accelerated board with a baseboard that is a System of its own: in what it differs from a plain
//! BMC.

use std::time::Duration;

use super::habits::*;
use super::plain::{PLAIN, RESET_TYPES, SLOWER, TARGETS};
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

const TYPES: &[&str] = &["CD", "USBStick"];

pub(super) static PROFILE: Profile = Profile {
    name: "openbmc",
    names: NAMES,
    schemas: SCHEMAS,
    media: MediaHabits {
        // Seen on OpenBMC and Cisco UCS: a slot that is no use, without actions, 405.
        slots: &[
            SlotKind::usable(Home::Manager, "Slot_0", TYPES).no_use(),
            SlotKind::usable(Home::Manager, "USB1", TYPES),
            SlotKind::usable(Home::Manager, "USB2", TYPES),
        ],
        // Seen on GB200: slots under Managers only, and the System does not say so.
        system_link: None,
        // Seen on OpenBMC: no `Image` while a slot is empty.
        empty: EmptyImage::Absent,
        ..PLAIN.media
    },
    boot: BootHabits {
        targets: TARGETS.and(&[Target::Cd, Target::Diags, Target::Usb, Target::UefiHttp]),
        // Seen on GB200: changed at the settings object.
        place: BootPlace::Settings,
        // Seen on GB200: there is no boot mode.
        mode: BootMode::Absent,
        ..PLAIN.boot
    },
    reset: ResetHabits {
        // Seen on Cray EX: `Off` is a type.
        types: RESET_TYPES.and(&[ResetType::Off, ResetType::ForceOn, ResetType::PowerCycle, ResetType::Nmi]),
        // Seen on OpenBMC: the types are in ActionInfo only.
        listed: Listed::ActionInfo,
        ..PLAIN.reset
    },
    // Seen on GB200: no ETags.
    etag: ETagHabits { form: ETagForm::None, if_match: IfMatch::Ignored },
    session: SessionHabits { idle: Duration::from_secs(3600), max: 64, ..PLAIN.session },
    // Seen on HGX: a System that can't be reset.
    bystanders: &["HGX_Baseboard_0"],
    timing: Timing { shutdown: PLAIN.timing.shutdown, ..SLOWER },
    ..PLAIN
};

const NAMES: Names = Names {
    vendor: Some("OpenBMC"),
    product: Some("Accelerated Board"),
    redfish_version: "1.17.0",
    system: "System_0",
    manager: "BMC_0",
    chassis: "Chassis_0",
    storage: "1",
    manufacturer: "OpenBMC",
    model: "Accelerated Board",
    sku: "699-0000-0001",
    bios: "2.4.1",
    manager_model: "OpenBmc",
    firmware: "2.17.0-dev",
    processor: "ARMv9",
    processor_vendor: "ARM",
    ..PLAIN.names
};

const SCHEMAS: Schemas =
    Schemas { root: "v1_15_0", system: "v1_22_0", media: "v1_3_0", chassis: "v1_22_0", ..PLAIN.schemas };
