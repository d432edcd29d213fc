//! OpenBMC, as on an accelerated board with a baseboard that is a System of its own.
//!
//! Its habits: virtual media under Managers, whose first slot can't be used (no actions, 405); no
//! `Image` while a slot is empty; no boot mode; the override is changed at the Settings object; reset
//! types only in ActionInfo, `Off` among them; a second System that can't be reset; no ETags.

use std::time::Duration;

use super::habits::*;
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

pub(super) static PROFILE: Profile = Profile {
    name: "openbmc",
    names: Names {
        vendor: Some("OpenBMC"),
        product: Some("Accelerated Board"),
        oem: None,
        redfish_version: "1.17.0",
        system: "System_0",
        manager: "BMC_0",
        chassis: "Chassis_0",
        storage: "1",
        settings: "Settings",
        manufacturer: "OpenBMC",
        model: "Accelerated Board",
        sku: "699-0000-0001",
        bios: "2.4.1",
        manager_model: "OpenBmc",
        firmware: "2.17.0-dev",
        processor: "ARMv9",
        processor_vendor: "ARM",
    },
    schemas: Schemas {
        root: "v1_15_0",
        system: "v1_22_0",
        manager: "v1_14_0",
        media: "v1_3_0",
        chassis: "v1_22_0",
    },
    media: MediaHabits {
        slots: &[
            SlotKind { home: Home::Manager, id: "Slot_0", types: &["CD", "USBStick"], usable: false },
            SlotKind { home: Home::Manager, id: "USB1", types: &["CD", "USBStick"], usable: true },
            SlotKind { home: Home::Manager, id: "USB2", types: &["CD", "USBStick"], usable: true },
        ],
        system_link: None,
        control: MediaControl::Actions,
        reply: MediaReply::NoContent,
        refuses_inserted: false,
        eject_wants_body: false,
        empty: EmptyImage::Absent,
        lingers: Duration::ZERO,
        refuses_https: false,
    },
    boot: BootHabits {
        targets: &[
            Target::None,
            Target::Pxe,
            Target::Hdd,
            Target::Cd,
            Target::Diags,
            Target::BiosSetup,
            Target::Usb,
            Target::UefiHttp,
        ],
        place: BootPlace::Settings,
        mode: BootMode::Absent,
        continuous: true,
        wants_enabled: false,
        refused_during_post: false,
        progress: true,
    },
    reset: ResetHabits {
        types: &[
            ResetType::On,
            ResetType::Off,
            ResetType::ForceOff,
            ResetType::ForceOn,
            ResetType::ForceRestart,
            ResetType::GracefulRestart,
            ResetType::GracefulShutdown,
            ResetType::PowerCycle,
            ResetType::Nmi,
        ],
        listed: Listed::ActionInfo,
        refuses_same_state: false,
        rests: Duration::ZERO,
        restart_hangs: false,
        shows_transitions: true,
    },
    etag: ETagHabits { form: ETagForm::None, if_match: IfMatch::Ignored },
    session: SessionHabits { idle: Duration::from_secs(3600), max: 64, absolute_location: false },
    bystanders: &["HGX_Baseboard_0"],
    trailing_slash: false,
    timing: Timing {
        power_on: Duration::from_secs(1),
        post: Duration::from_secs(4),
        os_start: Duration::from_secs(1),
        shutdown: Duration::from_secs(2),
        force_off: Duration::from_secs(1),
    },
};
