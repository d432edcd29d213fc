//! The volume with the installed system's configuration.

use std::{io::Read, ops::Range};

use beskar7_agent_protocol::order::Configuration;

use super::Work;
use crate::{
    fetching::{Fetch, passes},
    target::{BLOCK, Staged},
    telling::Problem,
};

/// A configuration is a few files: usually some hundred KiB. The server makes none that is larger than this.
const LARGEST: u64 = 64 << 20;
const STEP: &str = "configuring";

/// A volume that is in memory: what it holds is secret, and goes nowhere but to its partition.
///
/// The server gives it out for a while only, and an image may take longer than that to be written. And what is written last
/// is what was there before anything was: nothing is fetched twice, and might differ.
pub struct Volume<'a> {
    wanted: &'a Configuration,
    content: Vec<u8>,
}

impl<'a> Volume<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It can't be fetched, or is empty or too long.
    pub fn open(wanted: &'a Configuration, fetch: &dyn Fetch) -> Result<Self, Problem> {
        let opened = fetch.open(&wanted.path, 0).map_err(|error| {
            Problem::new(STEP, format!("the configuration's volume: {error}")).that_passes(error.passes())
        })?;
        let too_long =
            || Problem::new(STEP, format!("the configuration's volume has more than {LARGEST} bytes"));
        if opened.total.is_some_and(|total| total > LARGEST) {
            return Err(too_long());
        }
        let mut content = Vec::new();
        opened.body.take(LARGEST + 1).read_to_end(&mut content).map_err(|error| failed(&error))?;
        let volume = Self { wanted, content };
        match (volume.length(), opened.total) {
            (length, Some(total)) if length != total => {
                let why = format!("the configuration's volume ended at byte {length} of {total}");
                Err(Problem::new(STEP, why))
            }
            (0, _) => Err(Problem::new(STEP, "the configuration's volume is empty")),
            (1..=LARGEST, _) => Ok(volume),
            (_, _) => Err(too_long()),
        }
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.wanted.label
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.content.len() as u64
    }

    /// How many bytes behind the image are surely enough, with what is behind it and what its beginning is aligned to.
    pub fn room(&self) -> u64 {
        self.length().next_multiple_of(BLOCK as u64) + 2 * BLOCK as u64
    }

    /// Writes it to its place, and zeros behind it.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(self, staged: &mut Staged<'_>, place: Range<u64>, work: &Work<'_>) -> Result<u64, Problem> {
        let mut at = place.start;
        for part in self.content.chunks(BLOCK) {
            if work.telling.is_unwanted() {
                return Err(work.failed(STEP, &"nobody wants this done any more; the disk holds no system"));
            }
            let mut block = part.to_vec();
            block.resize(part.len().next_multiple_of(usize::try_from(work.sector).unwrap_or(512)), 0);
            staged.write(at, &block).map_err(|error| work.failed(STEP, &error))?;
            at += block.len() as u64;
        }
        if at < place.end {
            staged.zero(at, place.end - at).map_err(|error| work.failed(STEP, &error))?;
        }
        Ok(self.length())
    }
}

fn failed(error: &std::io::Error) -> Problem {
    Problem::new(STEP, format!("the configuration's volume: {error}")).that_passes(passes(error))
}
