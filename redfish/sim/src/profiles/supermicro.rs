//! Supermicro X12 and its kin: in what they differ from a plain BMC.

use std::time::Duration;

use super::habits::*;
use super::plain::{PLAIN, RESET_TYPES, SLOWER, TARGETS};
use crate::machine::boot::Target;
use crate::machine::power::ResetType;

const ANY: &[&str] = &["CD", "DVD", "Floppy", "USBStick"];

pub(super) static PROFILE: Profile = Profile {
    name: "supermicro",
    names: NAMES,
    schemas: SCHEMAS,
    media: MediaHabits {
        slots: &[
            SlotKind::usable(Home::Manager, "VirtualMedia1", ANY),
            SlotKind::usable(Home::Manager, "VirtualMedia2", ANY),
        ],
        // Seen on X12: `System.VirtualMedia` leads into Managers.
        system_link: Some(Home::Manager),
        // Seen on X12: EjectMedia is there only while something is inserted.
        control: MediaControl::EjectWhenInserted,
        // Seen on X12: 202 without a `Location`, and the image is seen later.
        reply: MediaReply::Accepted { location: false, takes: Duration::from_secs(1) },
        // Seen on X11 and X12: `Inserted` and `WriteProtected` are refused with InsertMedia.
        refuses_inserted: true,
        ..PLAIN.media
    },
    boot: BootHabits {
        // Seen on most: the virtual CD boots as UsbCd; here there is no Cd at all.
        targets: TARGETS.and(&[Target::Floppy, Target::UsbCd, Target::Usb, Target::UefiHttp]),
        // Seen on X12: back to Legacy when a change does not name the mode.
        mode: BootMode::FallsBack,
        // Seen on X12: a change must name `BootSourceOverrideEnabled`, changed or not.
        wants_enabled: true,
        ..PLAIN.boot
    },
    reset: ResetHabits {
        types: RESET_TYPES.and(&[ResetType::Nmi, ResetType::ForceOn, ResetType::PowerCycle]),
        // Seen on X12: the types are in ActionInfo only.
        listed: Listed::ActionInfo,
        // Power is On or Off, nothing between.
        shows_transitions: false,
        ..PLAIN.reset
    },
    // Seen on X12: a session without requests is gone after five minutes.
    session: SessionHabits { idle: Duration::from_secs(300), ..PLAIN.session },
    timing: SLOWER,
    ..PLAIN
};

const NAMES: Names = Names {
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
};

const SCHEMAS: Schemas =
    Schemas { root: "v1_9_0", system: "v1_14_0", manager: "v1_11_0", media: "v1_4_1", chassis: "v1_15_0" };
