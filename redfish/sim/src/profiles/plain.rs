//! A BMC that does what the Redfish specification says, and everything that Beskar7 can use.
//!
//! It has no bad habit: what a client can't do here is the client's fault. The other profiles begin with it and say
//! only in what they differ.

use std::time::Duration;

use super::habits::*;
use crate::machine::boot::Target;
use crate::machine::power::{ResetType, Timing};

pub(super) static PROFILE: Profile = PLAIN;

/// The boot targets that every BMC has; profiles add theirs.
pub(super) const TARGETS: Choices<Target> =
    Choices::of(&[Target::None, Target::Pxe, Target::Hdd, Target::BiosSetup]);

/// The reset types that every BMC has; profiles add theirs.
pub(super) const RESET_TYPES: Choices<ResetType> = Choices::of(&[
    ResetType::On,
    ResetType::ForceOff,
    ResetType::GracefulShutdown,
    ResetType::GracefulRestart,
    ResetType::ForceRestart,
]);

pub(super) const PLAIN: Profile = Profile {
    name: "plain",
    names: Names {
        vendor: Some("Beskar7"),
        product: Some("Simulated BMC"),
        oem: None,
        redfish_version: "1.15.0",
        system: "System-1",
        manager: "BMC-1",
        chassis: "Chassis-1",
        storage: "Storage-1",
        settings: "Settings",
        manufacturer: "Beskar7",
        model: "Simulated Machine",
        sku: "B7-SIM-1",
        bios: "1.0.0",
        manager_model: "Simulated BMC",
        firmware: "1.0.0",
        processor: "Simulated Processor",
        processor_vendor: "Beskar7",
    },
    schemas: Schemas {
        root: "v1_13_0",
        system: "v1_20_0",
        manager: "v1_14_0",
        media: "v1_5_0",
        chassis: "v1_20_0",
    },
    media: MediaHabits {
        slots: &[
            SlotKind::usable(Home::System, "CD1", &["CD", "DVD"]),
            SlotKind::usable(Home::System, "USB1", &["USBStick"]),
        ],
        system_link: Some(Home::System),
        control: MediaControl::Actions,
        reply: MediaReply::NoContent,
        refuses_inserted: false,
        eject_wants_body: false,
        empty: EmptyImage::Null,
        lingers: Duration::ZERO,
        refuses_https: false,
    },
    boot: BootHabits {
        targets: TARGETS.and(&[Target::Cd, Target::Usb, Target::UefiHttp, Target::UefiTarget]),
        place: BootPlace::System,
        mode: BootMode::Kept,
        continuous: true,
        wants_enabled: false,
        refused_during_post: false,
        progress: true,
    },
    reset: ResetHabits {
        types: RESET_TYPES.and(&[ResetType::ForceOn, ResetType::PowerCycle]),
        listed: Listed::Inline,
        refuses_same_state: false,
        rests: Duration::ZERO,
        restart_hangs: false,
        shows_transitions: true,
    },
    etag: ETagHabits { form: ETagForm::Strong, if_match: IfMatch::Checked },
    session: SessionHabits { idle: Duration::from_secs(1800), max: 16, absolute_location: false },
    bystanders: &[],
    trailing_slash: false,
    timing: Timing {
        power_on: Duration::from_millis(500),
        post: Duration::from_secs(2),
        os_start: Duration::from_secs(1),
        shutdown: Duration::from_secs(2),
        force_off: Duration::from_millis(500),
    },
};

/// The times of the vendors' machines, which are slower.
pub(super) const SLOWER: Timing = Timing {
    power_on: Duration::from_secs(1),
    post: Duration::from_secs(4),
    shutdown: Duration::from_secs(3),
    force_off: Duration::from_secs(1),
    ..PLAIN.timing
};
