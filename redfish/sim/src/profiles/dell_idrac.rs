//! Dell PowerEdge with an iDRAC9.
//!
//! Its habits: virtual media under Systems and Managers both, in slots of different names; a slot
//! that still says "Inserted" after an eject and answers 500 to an insert at once after; 409 when the
//! machine is in the wanted power state already, and "On" refused just after power went off; a change
//! of the boot mode is a job, whose task is 404 for a moment; power is On or Off, nothing between; no
//! ETags worth the name.

use std::time::Duration;

use super::habits::*;
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

pub(super) static PROFILE: Profile = Profile {
    name: "dell-idrac",
    names: Names {
        vendor: Some("Dell"),
        product: Some("Integrated Dell Remote Access Controller"),
        oem: Some("Dell"),
        redfish_version: "1.17.0",
        system: "System.Embedded.1",
        manager: "iDRAC.Embedded.1",
        chassis: "System.Embedded.1",
        storage: "RAID.Integrated.1-1",
        settings: "Settings",
        manufacturer: "Dell Inc.",
        model: "PowerEdge R650",
        sku: "B7S1MD1",
        bios: "1.12.1",
        manager_model: "15G Monolithic",
        firmware: "7.00.60.00",
        processor: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
        processor_vendor: "Intel",
    },
    schemas: Schemas {
        root: "v1_11_0",
        system: "v1_18_0",
        manager: "v1_15_0",
        media: "v1_4_0",
        chassis: "v1_20_0",
    },
    media: MediaHabits {
        slots: &[
            SlotKind { home: Home::System, id: "1", types: &["CD", "DVD", "USBStick"], usable: true },
            SlotKind { home: Home::System, id: "2", types: &["CD", "DVD", "USBStick"], usable: true },
            SlotKind { home: Home::Manager, id: "CD", types: &["CD", "DVD"], usable: true },
            SlotKind { home: Home::Manager, id: "RemovableDisk", types: &["USBStick"], usable: true },
        ],
        system_link: Some(Home::System),
        control: MediaControl::Actions,
        reply: MediaReply::NoContent,
        refuses_inserted: false,
        eject_wants_body: false,
        empty: EmptyImage::Null,
        lingers: Duration::from_secs(2),
        refuses_https: false,
    },
    boot: BootHabits {
        targets: &[
            Target::None,
            Target::Pxe,
            Target::Floppy,
            Target::Cd,
            Target::Hdd,
            Target::BiosSetup,
            Target::UefiTarget,
            Target::UefiHttp,
        ],
        place: BootPlace::System,
        mode: BootMode::ByJob,
        continuous: true,
        wants_enabled: false,
        refused_during_post: false,
        progress: true,
    },
    reset: ResetHabits {
        types: &[
            ResetType::On,
            ResetType::ForceOff,
            ResetType::ForceRestart,
            ResetType::GracefulRestart,
            ResetType::GracefulShutdown,
            ResetType::PushPowerButton,
            ResetType::Nmi,
            ResetType::PowerCycle,
        ],
        listed: Listed::Inline,
        refuses_same_state: true,
        rests: Duration::from_secs(1),
        restart_hangs: false,
        shows_transitions: false,
    },
    etag: ETagHabits { form: ETagForm::None, if_match: IfMatch::Ignored },
    session: SessionHabits { idle: Duration::from_secs(1800), max: 8, absolute_location: false },
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
