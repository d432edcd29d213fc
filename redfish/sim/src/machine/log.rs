//! What was done to a machine, by whom and when, and what came of it.
//!
//! It keeps the last [`KEPT`] entries: a test asks about its own run, and ten thousand machines live
//! in one process.

use std::collections::VecDeque;

use serde::Serialize;

use super::MediaRead;
use super::boot::{BootSource, Override};
use super::power::{Outcome, ResetType};
use crate::clock::Moment;

/// How many entries a machine remembers.
pub const KEPT: usize = 500;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum Action {
    /// Somebody asked for a change of power.
    Reset {
        /// What was asked.
        kind: ResetType,
        /// What the machine made of it.
        outcome: Outcome,
    },
    /// Power came on.
    PoweredOn,
    /// Power went off.
    PoweredOff,
    /// An image was put into a slot.
    Insert {
        /// The slot's id.
        slot: String,
        /// The image's URL.
        image: String,
    },
    /// A slot was emptied.
    Eject {
        /// The slot's id.
        slot: String,
        /// What was in it.
        image: Option<String>,
    },
    /// The boot override was set or cleared.
    SetOverride {
        /// What it is now.
        to: Override,
    },
    /// The firmware used a one-time override up.
    OverrideConsumed,
    /// The firmware read from an image.
    Read {
        /// What it read.
        media: MediaRead,
    },
    /// An operating system runs.
    Booted {
        /// What it came from.
        source: BootSource,
    },
    /// A session was opened.
    LoggedIn,
}

/// An action with its time and author.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// When, since the simulator's start.
    #[serde(rename = "atSeconds", serialize_with = "seconds")]
    pub at: Moment,
    /// Who: a session, a user by Basic, `control`, or `machine` for what follows by itself.
    pub who: String,
    /// What.
    #[serde(flatten)]
    pub action: Action,
}

fn seconds<S: serde::Serializer>(at: &Moment, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_secs_f64())
}

/// The entries of one machine, oldest first.
#[derive(Debug, Default)]
pub struct ActionLog {
    entries: VecDeque<Entry>,
}

impl ActionLog {
    /// Writes one entry; the oldest goes when there are too many.
    pub fn add(&mut self, at: Moment, who: &str, action: Action) {
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { at, who: who.to_owned(), action });
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}
