//! What is to be done with a machine next.
//!
//! Every plan can be begun again from its start: what is done already is seen to be done. The order of steps is what
//! makes a crash between any two of them harmless.

use std::time::Duration;

use beskar7_api::{
    PhysicalHost, annotations,
    boot::{BootMethod, BootMode},
    conditions::host as reasons,
    physical_host::PowerState,
};

use jiff::Timestamp;

use super::{
    boot_parameters::{Parameters, parameters},
    contact::Trouble,
    discovery::is_identified,
    errand::{Errand, Purpose, before_it_is_free, before_it_is_given_back},
    heard::{Heard, Word},
    hold::{Booting, Evidence, Hold, Progress, annotation, is_released},
    installing::await_installation,
    restart::{Restart, pending},
};
use crate::{
    claim::told_to_boot,
    delivery::{AgentBoot, Delivery, Way, way},
    disk_image::NEEDS_AGENT,
    machine::NEEDS_SERVER,
};

/// For so long after a machine was turned on, nothing that it runs can have taken its medium out.
const EARLY: Duration = Duration::from_secs(60);
/// How often a machine is made ready for one claim, when its BMC loses the medium.
pub(super) const MOST_TRIES: u32 = 5;
/// For so long after it read its configuration a machine may read it again: its boot counts as seen, and the
/// configuration is closed, only then. Some read it in every stage of an installation.
const SETTLES: Duration = Duration::from_secs(600);

/// What the BMC shows of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Power.
    pub power: PowerState,
    /// Whether a one-time override waits to be used; nothing where the BMC does not say.
    pub armed: Option<bool>,
    /// How far the boot has come; nothing where the BMC does not say.
    pub boot: Option<Boot>,
    /// Whether an image is in a drive; nothing where nobody looked.
    pub medium: Option<bool>,
}

/// How far a boot has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// Nothing since the last reset.
    NotBegun,
    /// In firmware.
    Firmware,
    /// The operating system was started, or runs.
    OperatingSystem,
}

/// What a consumer wants booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The ISO, for virtual media.
    pub image: Option<String>,
    /// From where.
    pub method: BootMethod,
    /// How firmware starts.
    pub mode: BootMode,
    /// Kernel parameters, and how they reach the kernel; nothing where there are none.
    pub parameters: Option<Parameters>,
    /// How it gets its configuration from us, if it does.
    pub configuration: Option<Way>,
    /// Whether it boots the agent.
    pub starts_agent: bool,
}

/// How a boot counts as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// By this.
    By(Evidence),
    /// Nothing could be seen of it within the limit.
    Unobservable,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: look again at the usual pace.
    Watch,
    /// Nothing until the consumer says what to boot, or wants the machine to run.
    WaitForConsumer,
    /// Nothing until somebody changes what is wanted, or more is known of the machine: as it is wanted it can't be
    /// booted.
    Refuse(Trouble),
    /// Off, insert, arm, write the mark, on: from the beginning.
    Install(Wanted),
    /// The machine has power: add that to its mark.
    NoteOn(Booting),
    /// What it started from is not needed any more: eject it, or firmware that begins with drives starts it again.
    TakeOut,
    /// It had power and is off: what ran on it ended so. Turn it on.
    TurnOn,
    /// Wait for the boot, looking often.
    AwaitBoot,
    /// The boot was seen: write it down.
    WriteSeen(Sight),
    /// As the consumer wants it while its machine is installed.
    Power(Switch),
    /// Turn it off so, and write down that this restart was made: it is turned on again by itself.
    Restart(Restart),
    /// Write down that this restart was made: the machine is off.
    NoteRestarted(Restart),
    /// Off, eject, clear the override.
    Deprovision,
    /// The agent is wanted on a machine that nobody uses: write that down.
    CallAgent(Purpose),
    /// Off, insert, arm, write that down, on: the agent is started on an errand.
    SendAgent(Errand, Wanted),
    /// The machine of an errand has power: write that down.
    NoteSent(Errand),
    /// An errand is over, or not wanted any more: off, eject, clear the override, and what was written of it goes.
    EndErrand,
    /// The machine of an errand is on, and its BMC can't be asked: what it starts the agent with when it asks is to be there.
    ServeAgent(Errand),
    /// The same is over, or its agent was not heard: what was made for it goes, and what was written of it.
    CloseErrand,
    /// The machine is clean, and the status says so: the claim and all that was written about it go.
    ClearClaim,
    /// The machine is clean of the last claim, and the status says so: it is the next one's.
    HandOver,
    /// The host is being deleted and there is nothing left to do: take the finalizer off.
    LetGo(Farewell),
}

impl Plan {
    /// Why it can't be booted as it is wanted.
    pub(super) fn refusal(&self) -> Option<&Trouble> {
        match self {
            Self::Refuse(trouble) => Some(trouble),
            Self::Watch
            | Self::WaitForConsumer
            | Self::Install(_)
            | Self::NoteOn(_)
            | Self::TakeOut
            | Self::TurnOn
            | Self::AwaitBoot
            | Self::WriteSeen(_)
            | Self::Power(_)
            | Self::Restart(_)
            | Self::NoteRestarted(_)
            | Self::Deprovision
            | Self::CallAgent(_)
            | Self::SendAgent(..)
            | Self::NoteSent(_)
            | Self::EndErrand
            | Self::ServeAgent(_)
            | Self::CloseErrand
            | Self::ClearClaim
            | Self::HandOver
            | Self::LetGo(_) => None,
        }
    }
}

/// In which state a deleted host leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// Off and empty, or never touched.
    Clean,
    /// Nobody knows: its BMC did not do as it was told for too long.
    GivenUp,
}

/// Which way to turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// How a machine is provisioned here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// For so long a boot is awaited.
    pub patience: Duration,
    /// Whether there is a boot server.
    pub delivery: Delivery,
    /// Whether hosts are inspected that do not say whether they want to be.
    pub inspect: bool,
}

/// What follows for the machine.
#[must_use]
pub fn plan(host: &PhysicalHost, seen: Seen, now: Timestamp, means: Means) -> Plan {
    if host.spec.externally_provisioned {
        let was_on_errand = annotation(host, annotations::ERRAND).is_some();
        return match host.metadata.deletion_timestamp {
            Some(_) => Plan::LetGo(Farewell::Clean),
            None if was_on_errand => Plan::CloseErrand,
            None => Plan::Watch,
        };
    }
    match Hold::of(host) {
        Hold::Free if host.metadata.deletion_timestamp.is_some() => Plan::Deprovision,
        Hold::Free => before_it_is_free(host, seen, now, means),
        Hold::Kept(_) | Hold::OnHold => Plan::Watch,
        Hold::Leaving => before_it_is_given_back(host, seen, now, means),
        Hold::Cleaned => Plan::ClearClaim,
        Hold::Held { claim } => match Progress::of(host, claim) {
            Progress::NotBegun => begin(host, means.delivery),
            Progress::Booting(booting) => await_boot(host, booting, seen, now, means),
            Progress::Seen => keep(host, seen.power),
        },
    }
}

/// What follows for a host that is being deleted and whose machine can't be dealt with: it is let go when nothing was
/// ever done with it, or when it was tried for as long as `patience`.
#[must_use]
pub fn plan_without_contact(host: &PhysicalHost, now: Timestamp, patience: Duration) -> Plan {
    if Hold::of(host) == Hold::Cleaned {
        return Plan::ClearClaim;
    }
    let Some(deleted) = &host.metadata.deletion_timestamp else { return Plan::Watch };
    let identified = host.status.as_ref().is_some_and(|status| is_identified(host, status));
    let over = Duration::try_from(now.duration_since(deleted.0)).is_ok_and(|waited| waited >= patience);
    match Hold::of(host) {
        Hold::Held { .. } | Hold::Kept(_) | Hold::OnHold => Plan::Watch,
        Hold::Leaving if !is_released(host) => Plan::Watch,
        Hold::Free if !identified => Plan::LetGo(Farewell::Clean),
        Hold::Free | Hold::Leaving | Hold::Cleaned if over => Plan::LetGo(Farewell::GivenUp),
        Hold::Free | Hold::Leaving | Hold::Cleaned => Plan::Watch,
    }
}

pub(super) fn begin(host: &PhysicalHost, delivery: Delivery) -> Plan {
    if host.spec.online == Some(false) {
        return Plan::WaitForConsumer;
    }
    match wanted(host, delivery) {
        Ok(Some(wanted)) => Plan::Install(wanted),
        Ok(None) => Plan::WaitForConsumer,
        Err(trouble) => Plan::Refuse(trouble),
    }
}

/// What the consumer wants booted, if it has said so.
fn wanted(host: &PhysicalHost, delivery: Delivery) -> Result<Option<Wanted>, Trouble> {
    let Some((method, image)) = medium(host) else { return Ok(None) };
    let boot = host.spec.boot.clone().unwrap_or_default();
    let configuration = way(&boot);
    if method.is_from_network() && delivery == Delivery::Off {
        return Err(Trouble {
            reason: reasons::BOOT_SERVER_OFF,
            message: format!("The machine is not booted. {NEEDS_SERVER}"),
            passes: false,
        });
    }
    if configuration.is_some() && delivery == Delivery::Off {
        return Err(Trouble {
            reason: reasons::BOOT_SERVER_OFF,
            message: "The machine is not booted: its configuration comes from the boot server, which is off. Start the manager with --boot-url".to_owned(),
            passes: false,
        });
    }
    if matches!(configuration, Some(Way::Volume(_))) && method != BootMethod::VirtualMedia {
        return Err(Trouble {
            reason: reasons::BOOT_PARAMETERS_UNSUPPORTED,
            message: "The machine is not booted: a volume with its configuration goes beside an ISO, and it does not boot from one. Remove configVolume".to_owned(),
            passes: false,
        });
    }
    let starts_agent = boot.install.is_some();
    if starts_agent {
        agent_is_there(method, delivery)?;
    }
    let parameters = parameters(host, &boot, method, delivery)?;
    Ok(Some(Wanted { image, method, mode: boot.boot_mode, parameters, configuration, starts_agent }))
}

/// Whether the agent can be started in this way.
fn agent_is_there(method: BootMethod, delivery: Delivery) -> Result<(), Trouble> {
    let why = match (method, delivery.agent()) {
        (BootMethod::VirtualMedia, AgentBoot::VirtualMedia) => return Ok(()),
        (BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot, AgentBoot::Network) => return Ok(()),
        (BootMethod::Disk, _) => {
            "A disk image is written by the agent, which is not on the machine's own disk: set another method"
        }
        (BootMethod::VirtualMedia, AgentBoot::None | AgentBoot::Network)
        | (
            BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot,
            AgentBoot::None | AgentBoot::VirtualMedia,
        ) => NEEDS_AGENT,
    };
    Err(Trouble {
        reason: reasons::AGENT_NOT_AVAILABLE,
        message: format!("The machine is not booted. {why}"),
        passes: false,
    })
}

/// From where the consumer wants its machine to boot, and its image; nothing where it has not said so. A consumer that
/// names an ISO and nothing else wants it as virtual media.
fn medium(host: &PhysicalHost) -> Option<(BootMethod, Option<String>)> {
    let image = host.spec.boot_iso_source.clone().filter(|url| !url.is_empty());
    let method = match (&host.spec.boot, &image) {
        (Some(boot), _) => boot.method,
        (None, Some(_)) => BootMethod::VirtualMedia,
        (None, None) => return None,
    };
    let installs = host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some());
    match (method, &image) {
        // The agent's ISO, which the manager knows.
        (BootMethod::VirtualMedia, _) if installs => Some((method, None)),
        (BootMethod::VirtualMedia, None) => None,
        (BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot, _) => {
            told_to_boot(host).map(|_| (method, None))
        }
        (BootMethod::VirtualMedia, Some(_)) | (BootMethod::Disk, _) => Some((method, image)),
    }
}

/// Whether the medium of a machine is worth a look: it boots from one, and its boot was not seen.
#[must_use]
pub fn may_lose_its_medium(host: &PhysicalHost) -> bool {
    let Hold::Held { claim } = Hold::of(host) else { return false };
    let boots_from_medium = matches!(medium(host), Some((BootMethod::VirtualMedia, _)));
    boots_from_medium && matches!(Progress::of(host, claim), Progress::Booting(_))
}

fn await_boot(host: &PhysicalHost, booting: Booting, seen: Seen, now: Timestamp, means: Means) -> Plan {
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
        Some(best) => !shows(*best, heard, seen),
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

/// An installed machine is touched only where its consumer has said what it wants.
fn keep(host: &PhysicalHost, power: PowerState) -> Plan {
    match (pending(host), host.spec.online, power) {
        (Some(restart), Some(true), PowerState::On) => return Plan::Restart(restart),
        (Some(restart), Some(true | false), PowerState::Off) => return Plan::NoteRestarted(restart),
        (None | Some(_), Some(_) | None, _) => {}
    }
    match (host.spec.online, power) {
        (Some(true), PowerState::Off) => Plan::Power(Switch::On),
        (Some(false), PowerState::On) => Plan::Power(Switch::Off),
        (
            Some(true | false) | None,
            PowerState::On
            | PowerState::Off
            | PowerState::PoweringOn
            | PowerState::PoweringOff
            | PowerState::Paused
            | PowerState::Unknown,
        ) => Plan::Watch,
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
