//! The boot of a machine that was made ready for it: by what it counts as seen, and what follows where it is not.

use std::time::Duration;

use beskar7_api::{PhysicalHost, boot::BootMethod, conditions::host as reasons, physical_host::PowerState};
use jiff::Timestamp;

use super::{
    boot_parameters::Parameters,
    contact::Trouble,
    heard::{Heard, Word},
    hold::{Booting, Evidence, Hold, Progress},
    installing::await_installation,
    plan::{Boot, Means, Plan, Seen, Sight},
    wanted::{Wanted, begin, medium},
};
use crate::delivery::{Delivery, Way, way};

/// For so long after a machine was turned on, nothing that it runs can have taken its medium out.
const EARLY: Duration = Duration::from_secs(60);
/// How often a machine is made ready for one claim, when its BMC loses the medium.
pub(super) const MOST_TRIES: u32 = 5;
/// For so long after it read its configuration a machine may read it again: its boot counts as seen, and the
/// configuration is closed, only then. Some read it in every stage of an installation.
const SETTLES: Duration = Duration::from_secs(600);

/// Whether the medium of a machine is worth a look: it boots from one, and its boot was not seen.
#[must_use]
pub fn may_lose_its_medium(host: &PhysicalHost) -> bool {
    let Hold::Held { claim } = Hold::of(host) else { return false };
    let boots_from_medium = matches!(medium(host), Some((BootMethod::VirtualMedia, _)));
    boots_from_medium && matches!(Progress::of(host, claim), Progress::Booting(_))
}

pub(super) fn await_boot(
    host: &PhysicalHost,
    booting: Booting,
    seen: Seen,
    now: Timestamp,
    means: Means,
) -> Plan {
    if host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some()) {
        return await_installation(host, booting, seen, now, means);
    }
    let heard = Heard::of(host, &booting.claim);
    match seen.power {
        PowerState::Off if host.spec.online == Some(false) => Plan::WaitForConsumer,
        // Nobody saw it run: whatever was lost meanwhile, medium or override, is put back.
        PowerState::Off if !has_run(host, &booting, &heard) => begin(host, means.delivery),
        PowerState::Off => Plan::TurnOn,
        // What has run for so long is never begun again: it may be installed.
        PowerState::On
            if !booting.is_over(now, means.patience) && lost_its_medium(&booting, &heard, seen, now) =>
        {
            begin_again(host, &booting, means.delivery)
        }
        PowerState::On => {
            let by_volume = matches!(host.spec.boot.as_ref().and_then(way), Some(Way::Volume(_)));
            let planned = await_boot_of_running(booting, &heard, seen, now, means.patience, by_volume);
            let unseen = planned == Plan::WriteSeen(Sight::Unobservable);
            if unseen && boots_from_network(host) { not_fetched() } else { planned }
        }
        PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Paused | PowerState::Unknown => {
            Plan::AwaitBoot
        }
    }
}

/// Whether a machine was seen to run since it was armed. A BMC may read an ISO without it; what boots from the network
/// only the machine itself can fetch.
fn has_run(host: &PhysicalHost, booting: &Booting, heard: &Heard) -> bool {
    let fetched = heard.has(Word::Image) && boots_from_network(host);
    let spoke = [Word::Home, Word::Node, Word::Configuration].into_iter().any(|word| heard.has(word));
    booting.on || fetched || spoke
}

fn await_boot_of_running(
    booting: Booting,
    heard: &Heard,
    seen: Seen,
    now: Timestamp,
    patience: Duration,
    by_volume: bool,
) -> Plan {
    if let Some(evidence) = proof(&booting, heard, seen, now, patience, by_volume) {
        return Plan::WriteSeen(Sight::By(evidence));
    }
    let is_over = booting.is_over(now, patience);
    let settling = heard.has(Word::Configuration);
    match (is_over && !settling, booting.on) {
        (true, true | false) if booting.evidence == [Evidence::Configuration] => not_read(),
        (true, true | false) => Plan::WriteSeen(Sight::Unobservable),
        (false, false) => Plan::NoteOn(booting.seen_on()),
        (false, true) => Plan::AwaitBoot,
    }
}

/// By what the boot counts as seen, if it does.
fn proof(
    booting: &Booting,
    heard: &Heard,
    seen: Seen,
    now: Timestamp,
    patience: Duration,
    by_volume: bool,
) -> Option<Evidence> {
    // Whoever says so knows this claim's secret, or carries its name: nothing else can be meant.
    for (word, evidence) in [(Word::Home, Evidence::Home), (Word::Node, Evidence::Node)] {
        if heard.has(word) {
            return Some(evidence);
        }
    }
    let is_over = booting.is_over(now, patience);
    let expects = |evidence: Evidence| booting.evidence.contains(&evidence);
    // That something boots is not enough: it needs its configuration, which closes when its boot was seen.
    if expects(Evidence::Configuration) {
        let read = heard.since(Word::Configuration)?;
        return has_passed(read, now, SETTLES).then_some(Evidence::Configuration);
    }
    // Whether the machine or its BMC has read a volume can't be told.
    if by_volume && !is_over {
        return None;
    }
    let shown = |evidence: Evidence| expects(evidence) && shows(evidence, heard, seen);
    if shown(Evidence::Progress) {
        return Some(Evidence::Progress);
    }
    // The others are seen in firmware already: where better evidence may come, it is waited for.
    let may_improve = expects(Evidence::Progress) && !is_over;
    [Evidence::Image, Evidence::Override].into_iter().find(|evidence| shown(*evidence) && !may_improve)
}

pub(super) fn has_passed(since: Timestamp, now: Timestamp, time: Duration) -> bool {
    Duration::try_from(now.duration_since(since)).is_ok_and(|waited| waited >= time)
}

/// It runs, and has not asked for what it needs. It is not called provisioned: as it is it never becomes a node.
fn not_read() -> Plan {
    Plan::Refuse(Trouble {
        reason: reasons::CONFIGURATION_NOT_READ,
        message: "The machine was turned on and has not read its configuration. Look at its console: whether the image reads the kernel parameters of its osFamily, and whether the machine reaches the boot server at --boot-url. It can still read it until --configuration-timeout has passed; then delete the machine that holds the host".to_owned(),
        passes: true,
    })
}

fn boots_from_network(host: &PhysicalHost) -> bool {
    host.spec.boot.as_ref().is_some_and(|boot| boot.method.is_from_network())
}

/// It runs, and has not fetched what it was to boot: whatever it runs is something else.
fn not_fetched() -> Plan {
    Plan::Refuse(Trouble {
        reason: reasons::ARTIFACTS_NOT_FETCHED,
        message: "The machine was turned on and has not fetched what it was to boot from the network. The events of this host say how far it came; look at its console, and whether its network reaches the boot server. It may still fetch it when it is started anew; else delete the machine or the claim that holds the host".to_owned(),
        passes: true,
    })
}

/// Whether a machine lost its medium before it booted from it: it would come up with what is on its disk, and be taken
/// for what was asked. Later an empty drive says nothing: installers eject what they came from.
fn lost_its_medium(booting: &Booting, heard: &Heard, seen: Seen, now: Timestamp) -> bool {
    if !heard.is_empty() {
        return false;
    }
    let in_firmware = || matches!(seen.boot, Some(Boot::NotBegun | Boot::Firmware));
    let has_not_booted = match booting.evidence.iter().min() {
        // Its configuration is read long after its boot: that it was not read says nothing of the medium.
        Some(Evidence::Configuration) => in_firmware(),
        // Any sign will do here: some BMCs tell of firmware for as long as a machine runs, and what it has installed by then
        // would be installed again.
        Some(_) => !booting.evidence.iter().any(|sign| shows(*sign, heard, seen)),
        None => false,
    };
    seen.medium == Some(false) && (has_not_booted || !booting.is_over(now, EARLY))
}

/// From the beginning, but not for ever.
fn begin_again(host: &PhysicalHost, booting: &Booting, delivery: Delivery) -> Plan {
    if booting.tries < MOST_TRIES {
        return begin(host, delivery);
    }
    lost_too_often(booting)
}

/// The BMC loses it again and again.
pub(super) fn lost_too_often(booting: &Booting) -> Plan {
    Plan::Refuse(Trouble {
        reason: reasons::MEDIUM_LOST,
        message: format!(
            "The BMC lost the image before the machine booted from it, {} times: look at its virtual media, or delete the machine that holds the host, so that another host is taken",
            booting.tries
        ),
        passes: false,
    })
}

/// Whether this shows that the operating system was started.
fn shows(evidence: Evidence, heard: &Heard, seen: Seen) -> bool {
    match evidence {
        Evidence::Home => heard.has(Word::Home),
        Evidence::Node => heard.has(Word::Node),
        Evidence::Installed => heard.has(Word::Restarting),
        Evidence::Configuration => heard.has(Word::Configuration),
        Evidence::Progress => seen.boot == Some(Boot::OperatingSystem),
        Evidence::Image => heard.has(Word::Image),
        Evidence::Override => seen.armed == Some(false),
    }
}

/// What can be believed of a boot, by what is wanted and by what the BMC shows while the machine is off and armed: an
/// old boot that is still shown would be taken for the new one.
#[must_use]
pub fn believable(wanted: &Wanted, off_and_armed: Seen) -> Vec<Evidence> {
    // What else boots is the agent, or what was on the disk before.
    if wanted.starts_agent {
        return vec![Evidence::Installed];
    }
    // Nothing less will do: it asks our server, or it is not what was wanted.
    if wanted.configuration == Some(Way::Url) {
        return vec![Evidence::Configuration];
    }
    // The BMC would see its firmware start a loader, and call that a boot: what it fetches from us is the proof.
    if wanted.method.is_from_network() {
        return vec![Evidence::Image];
    }
    let mut evidence = Vec::new();
    if matches!(off_and_armed.boot, Some(Boot::NotBegun | Boot::Firmware)) {
        evidence.push(Evidence::Progress);
    }
    if matches!(wanted.parameters, Some(Parameters::Overlay(_))) {
        evidence.push(Evidence::Image);
    }
    if off_and_armed.armed == Some(true) {
        evidence.push(Evidence::Override);
    }
    evidence
}
