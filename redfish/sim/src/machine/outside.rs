//! A machine that is not simulated: what it is told, and what it says.
//!
//! Its BMC stays simulated, with everything that it does about power, POST, media and overrides. When the firmware
//! would start something, the order goes outside; how far that gets, comes from there.

use std::collections::VecDeque;

use super::boot::BootSource;
use super::log::Action;
use super::power::Phase;
use super::{Effect, ITSELF, Machine};
use crate::clock::Moment;

/// What hardware has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// An image is in a slot.
    Insert {
        /// The slot's id.
        slot: String,
        /// The image's URL.
        image: String,
    },
    /// A slot is empty.
    Eject {
        /// The slot's id.
        slot: String,
    },
    /// Power is there: start from this.
    Start {
        /// Which start this is; what is said of an older one is ignored.
        attempt: u64,
        /// What the firmware was told, or would have chosen.
        source: BootSource,
    },
    /// Power is gone.
    Stop,
}

/// What hardware says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// An operating system begins to start.
    Starting,
    /// It runs.
    Running,
    /// It has switched the power off.
    PoweredOff,
}

impl Machine {
    /// From now on what the firmware starts runs outside. What is there is told to be as this machine is when it is
    /// new: off, with empty slots.
    pub fn run_outside(&mut self) {
        self.outside = true;
        self.order(Order::Stop);
        let slots: Vec<_> = self.slots.iter().map(|slot| slot.id.clone()).collect();
        for slot in slots {
            self.order(Order::Eject { slot });
        }
    }

    /// Takes up what hardware says. What it says of an older start, or when its power is gone, is ignored.
    pub fn report(&mut self, now: Moment, attempt: u64, report: Report) {
        self.advance(now);
        if attempt != self.attempts {
            return;
        }
        match (self.phase.clone(), report) {
            (Phase::Loading { source, .. }, Report::Starting) => {
                self.enter(now, Phase::Starting { until: None, source });
            }
            (Phase::Loading { source, .. } | Phase::Starting { source, .. }, Report::Running) => {
                self.runs(now, source);
            }
            (Phase::Loading { .. } | Phase::Starting { .. } | Phase::Running { .. }, Report::PoweredOff) => {
                if self.running().is_some() {
                    self.effects.push(Effect::OsStopped);
                }
                self.log.add(now, ITSELF, Action::PoweredOff);
                self.off_since = now;
                self.enter(now, Phase::Off);
            }
            (
                Phase::Off
                | Phase::PoweringOn { .. }
                | Phase::Post { .. }
                | Phase::Starting { .. }
                | Phase::Running { .. }
                | Phase::InFirmware
                | Phase::GoingDown { .. },
                Report::Starting | Report::Running | Report::PoweredOff,
            ) => (),
        }
    }

    pub(super) fn order(&mut self, order: Order) {
        if self.outside {
            self.effects.push(Effect::Outside(order));
        }
    }

    pub(super) fn hand_over(&mut self, at: Moment, source: BootSource) {
        self.attempts += 1;
        self.order(Order::Start { attempt: self.attempts, source: source.clone() });
        self.enter(at, Phase::Loading { attempt: self.attempts, source, others: VecDeque::new() });
    }
}

#[cfg(test)]
#[path = "outside_tests.rs"]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
