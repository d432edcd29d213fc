//! The machine behind a BMC: a pure state machine under a clock that is handed in.
//!
//! It knows power, POST, the boot override, virtual media and what its firmware starts. It knows no
//! HTTP and reads no clock; what must be done outside (reading an image, running an operating system)
//! comes out as [`Effect`]s.

pub mod boot;
mod firmware;
pub mod log;
pub mod media;
pub mod outside;
pub mod power;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]
mod tests;

use std::net::IpAddr;

use serde::Serialize;

use self::boot::{BootSource, Override};
use self::log::{Action, ActionLog};
use self::media::Slot;
use self::outside::Order;
use self::power::{BootProgress, Outcome, Phase, PowerState, ResetType, Then, Timing, post_progress};
use crate::clock::Moment;

const ITSELF: &str = "machine";

/// What the firmware read of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaRead {
    /// From where.
    pub url: String,
    /// How many bytes came.
    pub bytes: u64,
    /// How large the whole is, where the server said so.
    pub total: Option<u64>,
    /// Whether the server honoured the range.
    pub ranged: bool,
    /// Whether firmware can start from it: from an ISO without a boot record it can't.
    pub boots: bool,
    /// Why it could not be read.
    pub error: Option<String>,
}

/// What has to be done outside of the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read the beginning of a URL and tell [`Machine::media_read`].
    Read {
        /// Which attempt this is; an answer to an older one is ignored.
        attempt: u64,
        /// What to read.
        url: String,
    },
    /// An operating system runs.
    OsStarted {
        /// What it came from.
        source: BootSource,
    },
    /// It does not any more.
    OsStopped,
    /// Hardware that is not simulated has something to do.
    Outside(Order),
}

/// One machine.
#[derive(Debug)]
pub struct Machine {
    timing: Timing,
    phase: Phase,
    phase_since: Moment,
    off_since: Moment,
    attempts: u64,
    boot: Override,
    slots: Vec<Slot>,
    disk: Option<String>,
    /// The addresses of the system that runs, as it tells them to the BMC.
    addresses: Vec<IpAddr>,
    /// Whether what the firmware starts runs outside, on hardware that is not simulated.
    outside: bool,
    log: ActionLog,
    effects: Vec<Effect>,
}

impl Machine {
    /// A machine that is off, with empty slots and an empty disk.
    #[must_use]
    pub fn new(timing: Timing, slots: Vec<Slot>) -> Self {
        Self {
            timing,
            phase: Phase::Off,
            phase_since: Moment::ZERO,
            off_since: Moment::ZERO,
            attempts: 0,
            boot: Override::default(),
            slots,
            disk: None,
            addresses: Vec::new(),
            outside: false,
            log: ActionLog::default(),
            effects: Vec::new(),
        }
    }

    /// Lets time pass up to `now`.
    pub fn advance(&mut self, now: Moment) {
        while let Some(until) = self.phase.until().filter(|until| *until <= now) {
            self.leave_phase(until);
        }
    }

    /// When something will happen by itself.
    #[must_use]
    pub fn next_change(&self) -> Option<Moment> {
        self.phase.until()
    }

    /// What has to be done outside since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The power state as a careful BMC would report it.
    #[must_use]
    pub fn power(&self) -> PowerState {
        match &self.phase {
            Phase::Off => PowerState::Off,
            Phase::PoweringOn { .. } => PowerState::PoweringOn,
            Phase::GoingDown { .. } => PowerState::PoweringOff,
            Phase::Post { .. }
            | Phase::Loading { .. }
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::InFirmware => PowerState::On,
        }
    }

    /// Since when it is off, if it is.
    #[must_use]
    pub fn off_since(&self) -> Option<Moment> {
        (self.phase == Phase::Off).then_some(self.off_since)
    }

    /// Whether the firmware tests itself or looks for something to boot.
    #[must_use]
    pub fn in_post(&self) -> bool {
        matches!(self.phase, Phase::Post { .. } | Phase::Loading { .. })
    }

    /// How far the boot is.
    #[must_use]
    pub fn progress(&self, now: Moment) -> BootProgress {
        match &self.phase {
            Phase::Off | Phase::PoweringOn { .. } => BootProgress::None,
            Phase::Post { since, until } => post_progress(*since, *until, now),
            Phase::Loading { .. } => BootProgress::SystemHardwareInitializationComplete,
            Phase::Starting { .. } => BootProgress::OSBootStarted,
            Phase::Running { .. } | Phase::GoingDown { .. } => BootProgress::OSRunning,
            Phase::InFirmware => BootProgress::SetupEntered,
        }
    }

    /// Since when it is where it is.
    #[must_use]
    pub fn phase_since(&self) -> Moment {
        self.phase_since
    }

    /// What runs, if an operating system runs.
    #[must_use]
    pub fn running(&self) -> Option<&BootSource> {
        match &self.phase {
            Phase::Running { source } => Some(source),
            Phase::Off
            | Phase::PoweringOn { .. }
            | Phase::Post { .. }
            | Phase::Loading { .. }
            | Phase::Starting { .. }
            | Phase::InFirmware
            | Phase::GoingDown { .. } => None,
        }
    }

    /// The boot override.
    #[must_use]
    pub fn boot(&self) -> &Override {
        &self.boot
    }

    /// The media slots.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// What is installed on the disk.
    #[must_use]
    pub fn disk(&self) -> Option<&str> {
        self.disk.as_deref()
    }

    /// What was done to it.
    #[must_use]
    pub fn log(&self) -> &ActionLog {
        &self.log
    }

    /// Writes into the log what happened at the BMC.
    pub fn note(&mut self, now: Moment, who: &str, action: Action) {
        self.log.add(now, who, action);
    }

    /// Forgets the log.
    pub fn clear_log(&mut self) {
        self.log.clear();
    }

    /// The system that runs tells the BMC its addresses, as agents of some vendors do.
    pub fn tell_addresses(&mut self, addresses: Vec<IpAddr>) {
        self.addresses = addresses;
    }

    /// The addresses that the running system has told; none when nothing runs.
    #[must_use]
    pub fn addresses(&self) -> &[IpAddr] {
        self.running().map_or(&[], |_| self.addresses.as_slice())
    }

    /// Puts something bootable on the disk, or wipes it.
    pub fn install(&mut self, what: Option<String>) {
        self.disk = what;
    }

    /// Sets the boot override.
    pub fn set_override(&mut self, now: Moment, who: &str, to: Override) {
        self.boot = to.clone();
        self.log.add(now, who, Action::SetOverride { to });
    }

    /// Puts an image into a slot; it is seen from `ready_at` on. False if there is no such slot.
    pub fn insert(&mut self, now: Moment, who: &str, slot: usize, image: &str, ready_at: Moment) -> bool {
        let Some(slot) = self.slots.get_mut(slot) else { return false };
        slot.image = Some(image.to_owned());
        slot.ready_at = ready_at;
        slot.lingers = None;
        let id = slot.id.clone();
        self.order(Order::Insert { slot: id.clone(), image: image.to_owned() });
        self.log.add(now, who, Action::Insert { slot: id, image: image.to_owned() });
        true
    }

    /// Empties a slot, which may say until `lingers` that it is full. False if there is no such slot.
    pub fn eject(&mut self, now: Moment, who: &str, slot: usize, lingers: Moment) -> bool {
        let Some(slot) = self.slots.get_mut(slot) else { return false };
        let image = slot.image.take();
        slot.lingers = image.clone().filter(|_| lingers > now).map(|image| (lingers, image));
        let id = slot.id.clone();
        self.order(Order::Eject { slot: id.clone() });
        self.log.add(now, who, Action::Eject { slot: id, image });
        true
    }

    /// Whatever is in the slots is gone at once, without anybody's doing.
    pub fn lose_media(&mut self, now: Moment) {
        for slot in 0..self.slots.len() {
            self.eject(now, "nobody", slot, now);
        }
    }

    /// Asks for a change of power.
    pub fn reset(&mut self, now: Moment, who: &str, kind: ResetType) -> Outcome {
        self.advance(now);
        let outcome = self.begin_reset(now, kind);
        self.log.add(now, who, Action::Reset { kind, outcome });
        outcome
    }

    /// What came of [`Effect::Read`].
    pub fn media_read(&mut self, now: Moment, attempt: u64, read: MediaRead) {
        self.advance(now);
        let Phase::Loading { attempt: current, source, others } = self.phase.clone() else { return };
        if current != attempt {
            return;
        }
        let starts = read.error.is_none() && read.boots;
        self.log.add(now, ITSELF, Action::Read { media: read });
        if starts { self.start(now, source) } else { self.try_each(now, others) }
    }

    fn begin_reset(&mut self, now: Moment, kind: ResetType) -> Outcome {
        let is_off = self.phase == Phase::Off;
        match kind {
            ResetType::On | ResetType::ForceOn if is_off => self.power_on(now),
            ResetType::On | ResetType::ForceOn => Outcome::AlreadyThere,
            ResetType::ForceOff | ResetType::Off if is_off => Outcome::AlreadyThere,
            ResetType::ForceOff | ResetType::Off => {
                self.go_down(now, now.saturating_add(self.timing.force_off), Then::Off)
            }
            ResetType::GracefulShutdown if is_off => Outcome::AlreadyThere,
            ResetType::GracefulShutdown => self.graceful(now, Then::Off),
            ResetType::GracefulRestart if is_off => Outcome::AlreadyThere,
            ResetType::GracefulRestart => self.graceful(now, Then::On),
            ResetType::ForceRestart | ResetType::PowerCycle if is_off => self.power_on(now),
            ResetType::ForceRestart | ResetType::PowerCycle => {
                self.go_down(now, now.saturating_add(self.timing.force_off), Then::On)
            }
            ResetType::PushPowerButton if is_off => self.power_on(now),
            ResetType::PushPowerButton => self.graceful(now, Then::Off),
            ResetType::Nmi => Outcome::Started,
        }
    }

    fn power_on(&mut self, now: Moment) -> Outcome {
        self.enter(now, Phase::PoweringOn { until: now.saturating_add(self.timing.power_on) });
        Outcome::Started
    }

    fn graceful(&mut self, now: Moment, then: Then) -> Outcome {
        if self.running().is_none() {
            return Outcome::Unheard;
        }
        self.go_down(now, now.saturating_add(self.timing.shutdown), then)
    }

    fn go_down(&mut self, now: Moment, until: Moment, then: Then) -> Outcome {
        if self.running().is_some() {
            self.effects.push(Effect::OsStopped);
        }
        self.enter(now, Phase::GoingDown { until, then });
        Outcome::Started
    }

    fn enter(&mut self, at: Moment, phase: Phase) {
        self.phase = phase;
        self.phase_since = at;
    }

    fn leave_phase(&mut self, at: Moment) {
        match self.phase.clone() {
            Phase::PoweringOn { .. } => {
                self.log.add(at, ITSELF, Action::PoweredOn);
                self.enter(at, Phase::Post { since: at, until: at.saturating_add(self.timing.post) });
            }
            Phase::Post { .. } => self.choose(at),
            Phase::Starting { source, .. } => self.runs(at, source),
            Phase::GoingDown { then, .. } => {
                self.log.add(at, ITSELF, Action::PoweredOff);
                self.off_since = at;
                self.order(Order::Stop);
                self.enter(at, Phase::Off);
                match then {
                    Then::Off => (),
                    Then::On => {
                        self.power_on(at);
                    }
                }
            }
            Phase::Off | Phase::Loading { .. } | Phase::Running { .. } | Phase::InFirmware => (),
        }
    }

    fn runs(&mut self, at: Moment, source: BootSource) {
        self.log.add(at, ITSELF, Action::Booted { source: source.clone() });
        self.effects.push(Effect::OsStarted { source: source.clone() });
        self.enter(at, Phase::Running { source });
    }
}
