//! Supermicro X12 and its kin.
//!
//! Its habits: `System.VirtualMedia` links into Managers; `Inserted` and `WriteProtected` are refused
//! with InsertMedia; EjectMedia is shown only while something is inserted; an insert is 202 without a
//! `Location`; the virtual CD boots as UsbCd; a boot change must name `BootSourceOverrideEnabled`, and
//! the mode falls back to Legacy when it is not named; reset types only in ActionInfo.

use std::time::Duration;

use super::habits::*;
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

pub(super) static PROFILE: Profile = Profile {
    name: "supermicro",
    names: Names {
        vendor: Some("Supermicro"),
        product: None,
        oem: Some("Supermicro"),
        redfish_version: "1.11.0",
        system: "1",
        manager: "1",
        chassis: "1",
        storage: "HA-RAID",
        settings: "SD",
        manufacturer: "Supermicro",
        model: "SYS-120U-TNR",
        sku: "091715D9",
        bios: "1.6",
        manager_model: "ASPEED",
        firmware: "01.04.08",
        processor: "Intel(R) Xeon(R) processor",
        processor_vendor: "Intel(R) Corporation",
    },
    schemas: Schemas {
        root: "v1_9_0",
        system: "v1_14_0",
        manager: "v1_11_0",
        media: "v1_4_1",
        chassis: "v1_15_0",
    },
    media: MediaHabits {
        slots: &[
            SlotKind {
                home: Home::Manager,
                id: "VirtualMedia1",
                types: &["CD", "DVD", "Floppy", "USBStick"],
                usable: true,
            },
            SlotKind {
                home: Home::Manager,
                id: "VirtualMedia2",
                types: &["CD", "DVD", "Floppy", "USBStick"],
                usable: true,
            },
        ],
        system_link: Some(Home::Manager),
        control: MediaControl::EjectWhenInserted,
        reply: MediaReply::Accepted { location: false, takes: Duration::from_secs(1) },
        refuses_inserted: true,
        eject_wants_body: false,
        empty: EmptyImage::Null,
        lingers: Duration::ZERO,
        refuses_https: false,
    },
    boot: BootHabits {
        targets: &[
            Target::None,
            Target::Pxe,
            Target::Floppy,
            Target::UsbCd,
            Target::Usb,
            Target::Hdd,
            Target::BiosSetup,
            Target::UefiHttp,
        ],
        place: BootPlace::System,
        mode: BootMode::FallsBack,
        continuous: true,
        wants_enabled: true,
        refused_during_post: false,
        progress: true,
    },
    reset: ResetHabits {
        types: &[
            ResetType::On,
            ResetType::ForceOff,
            ResetType::GracefulShutdown,
            ResetType::GracefulRestart,
            ResetType::ForceRestart,
            ResetType::Nmi,
            ResetType::ForceOn,
            ResetType::PowerCycle,
        ],
        listed: Listed::ActionInfo,
        refuses_same_state: false,
        rests: Duration::ZERO,
        restart_hangs: false,
        shows_transitions: false,
    },
    etag: ETagHabits { form: ETagForm::Strong, if_match: IfMatch::Checked },
    session: SessionHabits { idle: Duration::from_secs(300), max: 16, absolute_location: false },
    bystanders: &[],
    trailing_slash: false,
    timing: Timing {
        power_on: Duration::from_secs(1),
        post: Duration::from_secs(4),
        os_start: Duration::from_secs(1),
        shutdown: Duration::from_secs(3),
        force_off: Duration::from_secs(1),
    },
};
