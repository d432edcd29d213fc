//! Lenovo ThinkSystem with an XCC: in what it differs from a plain BMC.

use std::time::Duration;

use super::habits::*;
use super::plain::{PLAIN, RESET_TYPES, SLOWER, TARGETS};
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

const fn slot(id: &'static str) -> SlotKind {
    SlotKind::usable(Home::System, id, &["CD", "DVD", "Floppy", "USBStick"])
}

pub(super) static PROFILE: Profile = Profile {
    name: "lenovo-xcc",
    names: NAMES,
    schemas: SCHEMAS,
    media: MediaHabits {
        // Seen on XCC: ten slots, of which four take images by URL.
        slots: &[
            slot("EXT1"),
            slot("EXT2"),
            slot("EXT3"),
            slot("EXT4"),
            slot("RDOC1").no_use(),
            slot("RDOC2").no_use(),
            slot("Remote1").no_use(),
            slot("Remote2").no_use(),
            slot("Remote3").no_use(),
            slot("Remote4").no_use(),
        ],
        // Seen on XCC: empty `Actions`; a PATCH of `Image` and `Inserted` does it.
        control: MediaControl::Patch,
        // Seen on XCC: an image over https of an unknown CA is refused.
        refuses_https: true,
        ..PLAIN.media
    },
    boot: BootHabits {
        targets: TARGETS.and(&[Target::Cd, Target::Usb, Target::Diags, Target::UefiTarget]),
        // Seen on XCC: changed at the settings object, which is called Pending.
        place: BootPlace::Settings,
        // Seen on several: Once only.
        continuous: false,
        ..PLAIN.boot
    },
    reset: ResetHabits {
        types: RESET_TYPES.and(&[ResetType::Nmi, ResetType::ForceOn]),
        // Seen on XCC: the types are with the action and in ActionInfo.
        listed: Listed::Both,
        // Seen on SR675: ForceRestart turns the machine off and leaves it so.
        restart_hangs: true,
        // Power is On or Off, nothing between.
        shows_transitions: false,
        ..PLAIN.reset
    },
    // Seen on XCC: a PATCH without `If-Match` is 428; 412 with a wrong one, or with `*`.
    etag: ETagHabits { if_match: IfMatch::Required, ..PLAIN.etag },
    session: SessionHabits { idle: Duration::from_secs(1200), ..PLAIN.session },
    timing: Timing { post: Duration::from_secs(5), ..SLOWER },
    ..PLAIN
};

const NAMES: Names = Names {
    vendor: Some("Lenovo"),
    product: None,
    oem: Some("Lenovo"),
    system: "1",
    manager: "1",
    chassis: "1",
    storage: "M.2",
    settings: "Pending",
    manufacturer: "Lenovo",
    model: "ThinkSystem SR650 V2",
    sku: "7Z73CTO1WW",
    bios: "AFE130G",
    manager_model: "Lenovo XClarity Controller",
    firmware: "AFBT52H 4.10 2023-11-20",
    processor: "Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz",
    processor_vendor: "Intel(R) Corporation",
    ..PLAIN.names
};

const SCHEMAS: Schemas = Schemas { system: "v1_17_0", media: "v1_5_1", chassis: "v1_19_0", ..PLAIN.schemas };
