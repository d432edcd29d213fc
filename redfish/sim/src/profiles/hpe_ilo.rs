//! HPE ProLiant with an iLO 5: in what it differs from a plain BMC.

use std::time::Duration;

use super::habits::*;
use super::plain::{PLAIN, RESET_TYPES, SLOWER, TARGETS};
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

pub(super) static PROFILE: Profile = Profile {
    name: "hpe-ilo",
    names: NAMES,
    schemas: SCHEMAS,
    media: MediaHabits {
        // Seen on iLO: the CD is in slot 2.
        slots: &[
            SlotKind::usable(Home::Manager, "1", &["Floppy", "USBStick"]),
            SlotKind::usable(Home::Manager, "2", &["CD", "DVD"]),
        ],
        // Seen on iLO: slots under Managers only, and the System does not say so.
        system_link: None,
        // Seen on iLO: what went well is a 200 whose body is called `error`.
        reply: MediaReply::SuccessMessage,
        // Seen on iLO: an eject without a body is 415.
        eject_wants_body: true,
        // Seen on iLO: an empty slot has an empty `Image`.
        empty: EmptyImage::EmptyString,
        ..PLAIN.media
    },
    boot: BootHabits {
        targets: TARGETS.and(&[
            Target::Cd,
            Target::Usb,
            Target::SDCard,
            Target::Utilities,
            Target::UefiTarget,
            Target::UefiHttp,
        ]),
        // Seen on iLO: there is no boot mode.
        mode: BootMode::Absent,
        // Seen on iLO: `UnableToModifyDuringSystemPOST`.
        refused_during_post: true,
        // Seen on iLO 5: no BootProgress.
        progress: false,
        ..PLAIN.boot
    },
    reset: ResetHabits {
        types: RESET_TYPES.and(&[ResetType::Nmi, ResetType::PushPowerButton]),
        // Seen on iLO: an error for the state that the machine is in already.
        refuses_same_state: true,
        // Power is On or Off, nothing between.
        shows_transitions: false,
        ..PLAIN.reset
    },
    // Seen on Gen10 and later: weak ETags.
    etag: ETagHabits { form: ETagForm::Weak, ..PLAIN.etag },
    // Seen on iLO: a few sessions, each with a whole URL as its `Location`.
    session: SessionHabits { max: 10, absolute_location: true, ..PLAIN.session },
    // Seen on iLO: every link ends in a slash.
    trailing_slash: true,
    timing: Timing { post: Duration::from_secs(5), ..SLOWER },
    ..PLAIN
};

const NAMES: Names = Names {
    vendor: Some("HPE"),
    product: Some("ProLiant DL360 Gen10 Plus"),
    oem: Some("Hpe"),
    redfish_version: "1.6.0",
    system: "1",
    manager: "1",
    chassis: "1",
    storage: "DE00B000",
    settings: "settings",
    manufacturer: "HPE",
    model: "ProLiant DL360 Gen10 Plus",
    sku: "P28948-B21",
    bios: "U46 v1.80 (06/14/2023)",
    manager_model: "iLO 5",
    firmware: "iLO 5 v2.98",
    processor: "Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz",
    processor_vendor: "Intel(R) Corporation",
};

const SCHEMAS: Schemas =
    Schemas { root: "v1_5_1", system: "v1_13_0", manager: "v1_5_1", media: "v1_3_0", chassis: "v1_10_2" };
