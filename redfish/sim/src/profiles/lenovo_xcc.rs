//! Lenovo ThinkSystem with an XCC.
//!
//! Its habits: ten media slots with no actions at all, changed by PATCH of `Image` and `Inserted`;
//! PATCH wants `If-Match` with the right ETag (428 without, 412 with a wrong one or `*`); the boot
//! override is changed at the `Pending` settings object; no `Continuous`; ForceRestart turns the
//! machine off and leaves it there; images over https from an unknown CA are refused.

use std::time::Duration;

use super::habits::*;
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

const ANY: &[&str] = &["CD", "DVD", "Floppy", "USBStick"];

const fn slot(id: &'static str) -> SlotKind {
    SlotKind { home: Home::System, id, types: ANY, usable: true }
}

pub(super) static PROFILE: Profile = Profile {
    name: "lenovo-xcc",
    names: Names {
        vendor: Some("Lenovo"),
        product: None,
        oem: Some("Lenovo"),
        redfish_version: "1.15.0",
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
    },
    schemas: Schemas {
        root: "v1_13_0",
        system: "v1_17_0",
        manager: "v1_14_0",
        media: "v1_5_1",
        chassis: "v1_19_0",
    },
    media: MediaHabits {
        slots: &[
            slot("EXT1"),
            slot("EXT2"),
            slot("EXT3"),
            slot("EXT4"),
            slot("RDOC1"),
            slot("RDOC2"),
            slot("Remote1"),
            slot("Remote2"),
            slot("Remote3"),
            slot("Remote4"),
        ],
        system_link: Some(Home::System),
        control: MediaControl::Patch,
        reply: MediaReply::NoContent,
        refuses_inserted: false,
        eject_wants_body: false,
        empty: EmptyImage::Null,
        lingers: Duration::ZERO,
        refuses_https: true,
    },
    boot: BootHabits {
        targets: &[
            Target::None,
            Target::Pxe,
            Target::Cd,
            Target::Usb,
            Target::Hdd,
            Target::BiosSetup,
            Target::Diags,
            Target::UefiTarget,
        ],
        place: BootPlace::Settings,
        mode: BootMode::Kept,
        continuous: false,
        wants_enabled: false,
        refused_during_post: false,
        progress: true,
    },
    reset: ResetHabits {
        types: &[
            ResetType::On,
            ResetType::Nmi,
            ResetType::GracefulShutdown,
            ResetType::GracefulRestart,
            ResetType::ForceOn,
            ResetType::ForceOff,
            ResetType::ForceRestart,
        ],
        listed: Listed::Both,
        refuses_same_state: false,
        rests: Duration::ZERO,
        restart_hangs: true,
        shows_transitions: false,
    },
    etag: ETagHabits { form: ETagForm::Strong, if_match: IfMatch::Required },
    session: SessionHabits { idle: Duration::from_secs(1200), max: 16, absolute_location: false },
    bystanders: &[],
    trailing_slash: false,
    timing: Timing {
        power_on: Duration::from_secs(1),
        post: Duration::from_secs(5),
        os_start: Duration::from_secs(1),
        shutdown: Duration::from_secs(3),
        force_off: Duration::from_secs(1),
    },
};
