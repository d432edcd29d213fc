//! HPE ProLiant with an iLO 5.
//!
//! Its habits: virtual media under Managers only, the CD in slot 2; an eject without a body is 415;
//! success is a 200 whose body is called `error`; boot changes are refused during POST
//! (`UnableToModifyDuringSystemPOST`); no boot mode; weak ETags; links with a trailing slash; an
//! absolute session `Location`; an empty slot shows an empty `Image`.

use std::time::Duration;

use super::habits::*;
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

pub(super) static PROFILE: Profile = Profile {
    name: "hpe-ilo",
    names: Names {
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
    },
    schemas: Schemas {
        root: "v1_5_1",
        system: "v1_13_0",
        manager: "v1_5_1",
        media: "v1_3_0",
        chassis: "v1_10_2",
    },
    media: MediaHabits {
        slots: &[
            SlotKind { home: Home::Manager, id: "1", types: &["Floppy", "USBStick"], usable: true },
            SlotKind { home: Home::Manager, id: "2", types: &["CD", "DVD"], usable: true },
        ],
        system_link: None,
        control: MediaControl::Actions,
        reply: MediaReply::SuccessMessage,
        refuses_inserted: false,
        eject_wants_body: true,
        empty: EmptyImage::EmptyString,
        lingers: Duration::ZERO,
        refuses_https: false,
    },
    boot: BootHabits {
        targets: &[
            Target::None,
            Target::Cd,
            Target::Hdd,
            Target::Usb,
            Target::SDCard,
            Target::Utilities,
            Target::BiosSetup,
            Target::Pxe,
            Target::UefiTarget,
            Target::UefiHttp,
        ],
        place: BootPlace::System,
        mode: BootMode::Absent,
        continuous: true,
        wants_enabled: false,
        refused_during_post: true,
        progress: false,
    },
    reset: ResetHabits {
        types: &[
            ResetType::On,
            ResetType::ForceOff,
            ResetType::GracefulShutdown,
            ResetType::ForceRestart,
            ResetType::Nmi,
            ResetType::PushPowerButton,
            ResetType::GracefulRestart,
        ],
        listed: Listed::Inline,
        refuses_same_state: true,
        rests: Duration::ZERO,
        restart_hangs: false,
        shows_transitions: false,
    },
    etag: ETagHabits { form: ETagForm::Weak, if_match: IfMatch::Checked },
    session: SessionHabits { idle: Duration::from_secs(1800), max: 10, absolute_location: true },
    bystanders: &[],
    trailing_slash: true,
    timing: Timing {
        power_on: Duration::from_secs(1),
        post: Duration::from_secs(5),
        os_start: Duration::from_secs(1),
        shutdown: Duration::from_secs(3),
        force_off: Duration::from_secs(1),
    },
};
