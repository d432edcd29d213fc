//! The machine under a clock of the test's own.

use std::time::Duration;

use super::boot::{BootSource, Override, OverrideEnabled, Target};
use super::log::{Action, KEPT};
use super::media::Slot;
use super::power::{BootProgress, Outcome, PowerState, ResetType, Timing};
use super::{Effect, Machine, MediaRead};
use crate::clock::Moment;

const TIMING: Timing = Timing {
    power_on: Duration::from_secs(1),
    post: Duration::from_secs(4),
    os_start: Duration::from_secs(2),
    shutdown: Duration::from_secs(5),
    force_off: Duration::from_secs(1),
};

fn at(seconds: u64) -> Moment {
    Duration::from_secs(seconds)
}

fn machine() -> Machine {
    Machine::new(TIMING, vec![Slot::new("CD1".to_owned())])
}

fn once(target: Target) -> Override {
    Override { enabled: OverrideEnabled::Once, target, ..Override::default() }
}

fn read(url: &str, error: Option<&str>) -> MediaRead {
    MediaRead {
        url: url.to_owned(),
        bytes: 65536,
        total: Some(1 << 20),
        ranged: true,
        boots: true,
        error: error.map(str::to_owned),
    }
}

fn running(machine: &mut Machine) {
    machine.reset(at(0), "test", ResetType::On);
    machine.advance(at(7));
    assert_eq!(machine.progress(at(7)), BootProgress::OSRunning);
}

#[test]
fn power_on_goes_through_every_stage_in_its_time() {
    let mut machine = machine();
    assert_eq!(machine.reset(at(0), "test", ResetType::On), Outcome::Started);
    let stages = [
        (0, PowerState::PoweringOn, BootProgress::None),
        (1, PowerState::On, BootProgress::PrimaryProcessorInitializationStarted),
        (2, PowerState::On, BootProgress::MemoryInitializationStarted),
        (3, PowerState::On, BootProgress::PCIResourceConfigStarted),
        (4, PowerState::On, BootProgress::SystemHardwareInitializationComplete),
        (5, PowerState::On, BootProgress::OSBootStarted),
        (6, PowerState::On, BootProgress::OSBootStarted),
        (7, PowerState::On, BootProgress::OSRunning),
    ];
    for (second, power, progress) in stages {
        machine.advance(at(second));
        assert_eq!((machine.power(), machine.progress(at(second))), (power, progress), "second {second}");
        assert_eq!(machine.in_post(), (1..5).contains(&second), "second {second}");
    }
}

#[test]
fn one_long_step_is_as_many_short_ones() {
    let (mut long, mut short) = (machine(), machine());
    for machine in [&mut long, &mut short] {
        machine.reset(at(0), "test", ResetType::On);
    }
    long.advance(at(60));
    (0..=60).for_each(|second| short.advance(at(second)));
    assert!(long.log().entries().eq(short.log().entries()));
    assert_eq!(long.take_effects(), short.take_effects());
}

#[test]
fn reset_types_do_what_they_say() {
    // (asked of a running machine, outcome, power after so many seconds)
    let table = [
        (ResetType::On, Outcome::AlreadyThere, vec![(0, PowerState::On)]),
        (ResetType::ForceOn, Outcome::AlreadyThere, vec![(0, PowerState::On)]),
        (ResetType::ForceOff, Outcome::Started, vec![(0, PowerState::PoweringOff), (1, PowerState::Off)]),
        (ResetType::Off, Outcome::Started, vec![(1, PowerState::Off), (9, PowerState::Off)]),
        (
            ResetType::GracefulShutdown,
            Outcome::Started,
            vec![(4, PowerState::PoweringOff), (5, PowerState::Off)],
        ),
        (ResetType::PushPowerButton, Outcome::Started, vec![(5, PowerState::Off)]),
        (
            ResetType::GracefulRestart,
            Outcome::Started,
            vec![(4, PowerState::PoweringOff), (6, PowerState::On)],
        ),
        (ResetType::ForceRestart, Outcome::Started, vec![(0, PowerState::PoweringOff), (2, PowerState::On)]),
        (ResetType::PowerCycle, Outcome::Started, vec![(2, PowerState::On)]),
        (ResetType::Nmi, Outcome::Started, vec![(0, PowerState::On)]),
    ];
    for (kind, outcome, powers) in table {
        let mut machine = machine();
        running(&mut machine);
        assert_eq!(machine.reset(at(10), "test", kind), outcome, "{kind:?}");
        for (second, power) in powers {
            machine.advance(at(10 + second));
            assert_eq!(machine.power(), power, "{kind:?} after {second} s");
        }
    }
}

#[test]
fn reset_types_on_a_machine_that_is_off() {
    let table = [
        (ResetType::On, Outcome::Started),
        (ResetType::ForceOff, Outcome::AlreadyThere),
        (ResetType::GracefulShutdown, Outcome::AlreadyThere),
        (ResetType::GracefulRestart, Outcome::AlreadyThere),
        (ResetType::ForceRestart, Outcome::Started),
        (ResetType::PushPowerButton, Outcome::Started),
    ];
    for (kind, outcome) in table {
        assert_eq!(machine().reset(at(0), "test", kind), outcome, "{kind:?}");
    }
}

#[test]
fn nobody_hears_a_graceful_shutdown_during_post_and_force_ends_it() {
    let mut machine = machine();
    machine.reset(at(0), "test", ResetType::On);
    assert_eq!(machine.reset(at(2), "test", ResetType::GracefulShutdown), Outcome::Unheard);
    assert_eq!(machine.power(), PowerState::On);
    assert_eq!(machine.reset(at(3), "test", ResetType::ForceOff), Outcome::Started);
    machine.advance(at(4));
    assert_eq!(machine.off_since(), Some(at(4)));
}

#[test]
fn force_cuts_a_graceful_shutdown_short() {
    let mut machine = machine();
    running(&mut machine);
    machine.reset(at(10), "test", ResetType::GracefulShutdown);
    machine.reset(at(11), "test", ResetType::ForceOff);
    machine.advance(at(12));
    assert_eq!(machine.power(), PowerState::Off);
}

#[test]
fn a_one_time_override_is_used_up_by_one_boot() {
    let mut machine = machine();
    machine.install(Some("flatcar".to_owned()));
    machine.set_override(at(0), "test", once(Target::Pxe));
    machine.reset(at(0), "test", ResetType::On);
    machine.advance(at(4));
    assert_eq!(machine.boot().enabled, OverrideEnabled::Once, "POST has not ended");
    machine.advance(at(7));
    assert_eq!(machine.boot().enabled, OverrideEnabled::Disabled);
    assert_eq!(machine.boot().target, Target::None);
    assert_eq!(machine.running(), Some(&BootSource::Network));
    machine.reset(at(10), "test", ResetType::ForceRestart);
    machine.advance(at(20));
    assert_eq!(machine.running(), Some(&BootSource::Disk { installed: "flatcar".to_owned() }));
}

#[test]
fn a_continuous_override_stays() {
    let mut machine = machine();
    machine.install(Some("flatcar".to_owned()));
    let to = Override { enabled: OverrideEnabled::Continuous, ..once(Target::Pxe) };
    machine.set_override(at(0), "test", to.clone());
    for start in [0, 20] {
        machine.reset(at(start), "test", ResetType::ForceRestart);
        machine.advance(at(start + 15));
        assert_eq!(machine.running(), Some(&BootSource::Network));
        assert_eq!(machine.boot(), &to);
    }
}

#[test]
fn an_override_that_is_not_obeyed_is_used_up_all_the_same() {
    let mut machine = machine();
    machine.install(Some("flatcar".to_owned()));
    machine.set_override(at(0), "test", Override { obeyed: false, ..once(Target::Pxe) });
    running(&mut machine);
    assert_eq!(machine.boot().enabled, OverrideEnabled::Disabled);
    assert_eq!(machine.running(), Some(&BootSource::Disk { installed: "flatcar".to_owned() }));
}

#[test]
fn the_firmware_reads_the_medium_before_it_boots() {
    let mut machine = machine();
    machine.insert(at(0), "test", 0, "http://127.0.0.1/a.iso", at(0));
    machine.set_override(at(0), "test", once(Target::Cd));
    machine.reset(at(0), "test", ResetType::On);
    machine.advance(at(30));
    assert!(machine.running().is_none(), "nothing was read yet");
    let url = "http://127.0.0.1/a.iso".to_owned();
    assert_eq!(machine.take_effects(), [Effect::Read { attempt: 1, url: url.clone() }]);
    machine.media_read(at(31), 99, read(&url, None));
    assert!(machine.in_post(), "an answer to another attempt changes nothing");
    machine.media_read(at(31), 1, read(&url, None));
    machine.advance(at(33));
    let source = BootSource::Media { slot: "CD1".to_owned(), image: url };
    assert_eq!(machine.running(), Some(&source));
    assert_eq!(machine.take_effects(), [Effect::OsStarted { source }]);
}

#[test]
fn a_medium_that_cant_be_read_falls_through_to_the_disk() {
    let mut machine = machine();
    machine.install(Some("old".to_owned()));
    machine.insert(at(0), "test", 0, "http://127.0.0.1/a.iso", at(0));
    machine.set_override(at(0), "test", once(Target::Cd));
    machine.reset(at(0), "test", ResetType::On);
    machine.advance(at(5));
    machine.media_read(at(6), 1, read("http://127.0.0.1/a.iso", Some("404")));
    machine.advance(at(8));
    assert_eq!(machine.running(), Some(&BootSource::Disk { installed: "old".to_owned() }));
    assert!(
        machine.log().entries().any(|e| matches!(&e.action, Action::Read { media } if media.error.is_some()))
    );
}

#[test]
fn a_medium_without_a_boot_record_is_passed_over() {
    let volume = MediaRead { boots: false, ..read("http://127.0.0.1/cidata.iso", None) };
    let lost = read("http://127.0.0.1/lost.iso", Some("404"));
    let slots = ["A", "B", "C"].map(|id| Slot::new(id.to_owned()));
    let installer = "http://127.0.0.1/installer.iso";
    let disk = BootSource::Disk { installed: "old".to_owned() };
    let from = |slot: &str| BootSource::Media { slot: slot.to_owned(), image: installer.to_owned() };
    for (images, expected) in [
        (vec![volume.clone(), read(installer, None)], from("B")),
        (vec![read(installer, None), volume.clone()], from("A")),
        (vec![lost, volume.clone(), read(installer, None)], from("C")),
        (vec![volume.clone(), volume], disk),
    ] {
        let mut machine = Machine::new(TIMING, slots.to_vec());
        machine.install(Some("old".to_owned()));
        for (slot, image) in images.iter().enumerate() {
            machine.insert(at(0), "test", slot, &image.url, at(0));
        }
        machine.set_override(at(0), "test", once(Target::Cd));
        machine.reset(at(0), "test", ResetType::On);
        machine.advance(at(5));
        for (attempt, image) in (1..).zip(images) {
            machine.media_read(at(5), attempt, image);
        }
        machine.advance(at(9));
        assert_eq!(machine.running(), Some(&expected));
    }
}

#[test]
fn a_drive_that_the_firmware_does_not_look_at_boots_nothing() {
    let silent = Slot { boots: false, ..Slot::new("2".to_owned()) };
    let mut machine = Machine::new(TIMING, vec![silent]);
    machine.insert(at(0), "test", 0, "http://127.0.0.1/a.iso", at(0));
    machine.set_override(at(0), "test", once(Target::Cd));
    running(&mut machine);
    assert_eq!(machine.running(), Some(&BootSource::Network));
}

#[test]
fn what_each_target_starts() {
    let http = Override { http_uri: Some("http://127.0.0.1/x.efi".to_owned()), ..once(Target::UefiHttp) };
    let path = Override { uefi_target: Some("PciRoot(0x0)".to_owned()), ..once(Target::UefiTarget) };
    let table = [
        (once(Target::Pxe), Some(BootSource::Network)),
        (once(Target::Hdd), Some(BootSource::Disk { installed: "d".to_owned() })),
        (once(Target::None), Some(BootSource::Disk { installed: "d".to_owned() })),
        (once(Target::Cd), Some(BootSource::Disk { installed: "d".to_owned() })),
        (once(Target::BiosSetup), None),
        (path, Some(BootSource::DevicePath { path: "PciRoot(0x0)".to_owned() })),
        (http, Some(BootSource::Http { uri: "http://127.0.0.1/x.efi".to_owned() })),
    ];
    for (told, expected) in table {
        let mut machine = machine();
        machine.install(Some("d".to_owned()));
        machine.set_override(at(0), "test", told.clone());
        machine.reset(at(0), "test", ResetType::On);
        machine.advance(at(5));
        machine.media_read(at(5), 1, read("http://127.0.0.1/x.efi", None));
        machine.advance(at(9));
        assert_eq!(machine.running(), expected.as_ref(), "{told:?}");
    }
}

#[test]
fn a_loader_of_removable_media_is_started_with_its_arguments_if_there_are_media() {
    let url = "http://127.0.0.1/a.iso";
    let from_media = |path: &str| BootSource::MediaFile {
        slot: "CD1".to_owned(),
        image: url.to_owned(),
        path: path.to_owned(),
    };
    let disk = BootSource::Disk { installed: "d".to_owned() };
    for (path, is_inserted, expected) in [
        (r"\EFI\BOOT\BOOTX64.EFI a=b c", true, from_media(r"\EFI\BOOT\BOOTX64.EFI a=b c")),
        (r"\EFI\BOOT\BOOTAA64.EFI", true, from_media(r"\EFI\BOOT\BOOTAA64.EFI")),
        (r"\efi\boot\bootx64.efi a", true, from_media(r"\efi\boot\bootx64.efi a")),
        (r"\EFI\BOOT\BOOTX64.EFI a=b", false, disk),
        (r"\EFI\other.efi a", true, BootSource::DevicePath { path: r"\EFI\other.efi a".to_owned() }),
    ] {
        let mut machine = machine();
        machine.install(Some("d".to_owned()));
        if is_inserted {
            machine.insert(at(0), "test", 0, url, at(0));
        }
        let told = Override { uefi_target: Some(path.to_owned()), ..once(Target::UefiTarget) };
        machine.set_override(at(0), "test", told);
        machine.reset(at(0), "test", ResetType::On);
        machine.advance(at(5));
        machine.media_read(at(5), 1, read(url, None));
        machine.advance(at(9));
        assert_eq!(machine.running(), Some(&expected), "{path} {is_inserted}");
    }
}

#[test]
fn going_down_stops_the_operating_system_once() {
    let mut machine = machine();
    running(&mut machine);
    machine.take_effects();
    machine.reset(at(10), "test", ResetType::GracefulShutdown);
    machine.reset(at(11), "test", ResetType::ForceOff);
    assert_eq!(machine.take_effects(), [Effect::OsStopped]);
}

#[test]
fn a_slot_shows_late_and_lingers() {
    let mut machine = machine();
    machine.insert(at(0), "test", 0, "http://x/a.iso", at(2));
    let shown = |machine: &Machine, second| machine.slots()[0].shown(at(second)).map(str::to_owned);
    assert_eq!(shown(&machine, 1), None);
    assert_eq!(shown(&machine, 2).as_deref(), Some("http://x/a.iso"));
    machine.eject(at(3), "test", 0, at(5));
    assert_eq!(shown(&machine, 4).as_deref(), Some("http://x/a.iso"));
    assert_eq!(machine.slots()[0].bootable(at(4)), None);
    assert_eq!(shown(&machine, 5), None);
    assert!(!machine.insert(at(6), "test", 7, "http://x/a.iso", at(6)), "there is no slot 7");
}

#[test]
fn the_log_says_who_and_keeps_the_last() {
    let mut machine = machine();
    machine.eject(at(1), "session 1 of admin", 0, at(1));
    let first = machine.log().entries().next().unwrap().clone();
    assert_eq!((first.at, first.who.as_str()), (at(1), "session 1 of admin"));
    (0..2 * KEPT).for_each(|_| machine.note(at(2), "test", Action::LoggedIn));
    assert_eq!(machine.log().entries().count(), KEPT);
    machine.clear_log();
    assert_eq!(machine.log().entries().count(), 0);
}
