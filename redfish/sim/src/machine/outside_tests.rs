use std::time::Duration;

use super::super::boot::{Override, OverrideEnabled, Target};
use super::super::media::Slot;
use super::super::power::{BootProgress, PowerState, ResetType, Timing};
use super::*;

const TIMING: Timing = Timing { post: Duration::from_secs(4), ..Timing::INSTANT };
const IMAGE: &str = "http://images/a.iso";

fn at(seconds: u64) -> Moment {
    Duration::from_secs(seconds)
}

fn orders(machine: &mut Machine) -> Vec<Order> {
    let effects = machine.take_effects().into_iter();
    effects
        .filter_map(|effect| match effect {
            Effect::Outside(order) => Some(order),
            Effect::Read { .. } | Effect::OsStarted { .. } | Effect::OsStopped => None,
        })
        .collect()
}

/// A machine outside that was told to start from its CD, and its last order.
fn started() -> (Machine, u64) {
    let mut machine = Machine::new(TIMING, vec![Slot::new("CD1".to_owned())]);
    machine.run_outside();
    assert_eq!(orders(&mut machine), [Order::Stop, Order::Eject { slot: "CD1".to_owned() }], "as new");
    machine.insert(at(0), "test", 0, IMAGE, at(0));
    let to = Override { enabled: OverrideEnabled::Once, target: Target::Cd, ..Override::default() };
    machine.set_override(at(0), "test", to);
    machine.reset(at(0), "test", ResetType::On);
    machine.advance(at(4));
    let source = BootSource::Media { slot: "CD1".to_owned(), image: IMAGE.to_owned() };
    let expected = [
        Order::Insert { slot: "CD1".to_owned(), image: IMAGE.to_owned() },
        Order::Start { attempt: 1, source },
    ];
    assert_eq!(orders(&mut machine), expected);
    (machine, 1)
}

#[test]
fn how_far_a_boot_is_comes_from_outside() {
    let (mut machine, attempt) = started();
    machine.advance(at(1000));
    assert_eq!(machine.progress(at(1000)), BootProgress::SystemHardwareInitializationComplete);
    assert_eq!(machine.boot().enabled, OverrideEnabled::Disabled, "used up");
    machine.report(at(1001), attempt, Report::Starting);
    machine.advance(at(2000));
    assert_eq!(machine.progress(at(2000)), BootProgress::OSBootStarted);
    machine.report(at(2001), attempt, Report::Running);
    assert_eq!(machine.progress(at(2001)), BootProgress::OSRunning);
    machine.report(at(2002), attempt, Report::PoweredOff);
    assert_eq!(machine.power(), PowerState::Off);
}

#[test]
fn what_is_said_of_an_older_start_is_ignored() {
    let (mut machine, old) = started();
    machine.report(at(5), old, Report::Running);
    machine.reset(at(6), "test", ResetType::ForceRestart);
    machine.advance(at(6));
    assert_eq!(orders(&mut machine), [Order::Stop]);
    machine.report(at(7), old, Report::PoweredOff);
    assert_eq!(machine.power(), PowerState::On);
    machine.advance(at(10));
    machine.report(at(11), old, Report::Running);
    assert_eq!(machine.progress(at(11)), BootProgress::SystemHardwareInitializationComplete);
    let again = Order::Start { attempt: 2, source: BootSource::Network };
    assert_eq!(orders(&mut machine), [again], "the override was used up, and the disk is empty");
}

#[test]
fn a_simulated_machine_gives_no_orders() {
    let mut machine = Machine::new(TIMING, vec![Slot::new("CD1".to_owned())]);
    machine.insert(at(0), "test", 0, IMAGE, at(0));
    machine.reset(at(0), "test", ResetType::On);
    machine.advance(at(10));
    machine.reset(at(11), "test", ResetType::ForceOff);
    machine.advance(at(12));
    assert_eq!(orders(&mut machine), []);
}
