//! The volume with the installed system's configuration.

use std::{io::Read, ops::Range};

use beskar7_agent_protocol::order::Configuration;

use super::Work;
use crate::{
    fetching::{Fetch, passes},
    target::{BLOCK, Staged},
    telling::Problem,
};

/// A configuration is a few files.
const LARGEST: u64 = 64 << 20;
const STEP: &str = "configuring";

/// A volume whose length is known.
pub struct Volume<'a> {
    wanted: &'a Configuration,
    fetch: &'a dyn Fetch,
    length: u64,
}

impl<'a> Volume<'a> {
    /// Finds out how long it is: by reading it, where the server does not say so.
    ///
    /// # Errors
    /// It can't be fetched, or is empty or too long.
    pub fn open(wanted: &'a Configuration, fetch: &'a dyn Fetch) -> Result<Self, Problem> {
        let mut volume = Self { wanted, fetch, length: 0 };
        let (body, total) = volume.fetch()?;
        volume.length = match total {
            Some(total) => total,
            None => count(body).map_err(|error| failed(&error))?,
        };
        match volume.length {
            0 => Err(Problem::new(STEP, "the configuration's volume is empty")),
            1..=LARGEST => Ok(volume),
            _ => Err(Problem::new(STEP, format!("the configuration's volume has more than {LARGEST} bytes"))),
        }
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.wanted.label
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How many bytes behind the image are surely enough, with what is behind it and what its beginning is aligned to.
    pub fn room(&self) -> u64 {
        self.length.next_multiple_of(BLOCK as u64) + 2 * BLOCK as u64
    }

    /// Writes it to its place, and zeros behind it.
    ///
    /// # Errors
    /// It can't be fetched or written, or is not as long as before.
    pub fn write(self, staged: &mut Staged<'_>, place: Range<u64>, work: &Work<'_>) -> Result<u64, Problem> {
        let (mut body, _) = self.fetch()?;
        let mut done = 0;
        while done < self.length {
            if work.telling.is_unwanted() {
                return Err(work.failed(STEP, &"nobody wants this done any more; the disk holds no system"));
            }
            let mut bytes = Vec::with_capacity(BLOCK);
            let most = (self.length - done).min(BLOCK as u64);
            body.by_ref().take(most).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
            if (bytes.len() as u64) < most {
                return Err(Problem::new(STEP, "the configuration's volume is shorter than the server said"));
            }
            bytes.resize(bytes.len().next_multiple_of(usize::try_from(work.sector).unwrap_or(512)), 0);
            staged.write(place.start + done, &bytes).map_err(|error| work.failed(STEP, &error))?;
            done += most;
        }
        let end = place.start + done.next_multiple_of(work.sector);
        if end < place.end {
            staged.zero(end, place.end - end).map_err(|error| work.failed(STEP, &error))?;
        }
        Ok(done)
    }

    fn fetch(&self) -> Result<(Box<dyn Read + Send>, Option<u64>), Problem> {
        let opened = self.fetch.open(&self.wanted.path, 0);
        let opened = opened.map_err(|error| {
            Problem::new(STEP, format!("the configuration's volume: {error}")).that_passes(error.passes())
        })?;
        Ok((opened.body, opened.total))
    }
}

fn count(body: Box<dyn Read + Send>) -> std::io::Result<u64> {
    std::io::copy(&mut body.take(LARGEST + 1), &mut std::io::sink())
}

fn failed(error: &std::io::Error) -> Problem {
    Problem::new(STEP, format!("the configuration's volume: {error}")).that_passes(passes(error))
}
