//! What a machine says on its serial port.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::isos::MARK;
use crate::process::tail;
use crate::wait::{self, Seen};

/// The serial port's output, from one power-on to the next.
#[derive(Debug, Clone)]
pub struct Console {
    path: PathBuf,
}

impl Console {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// What a booted image has said so far, line by line, without the mark.
    pub fn lines(&self) -> Result<Vec<String>> {
        let bytes = std::fs::read(&self.path).with_context(|| format!("reading {}", self.path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        // A line that is still being written does not count; firmware writes before the mark.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let marked =
            whole.lines().filter_map(|line| line.split_once(MARK).map(|(_, said)| said.trim().to_owned()));
        Ok(marked.collect())
    }

    /// What followed a word and a colon, if it was said.
    pub fn said(&self, word: &str) -> Result<Option<String>> {
        let prefix = format!("{word}:");
        let lines = self.lines()?;
        Ok(lines.iter().find_map(|line| line.strip_prefix(&prefix).map(|rest| rest.trim().to_owned())))
    }

    /// Waits until a line is said. An image that failed will not say it.
    pub async fn until(&self, line: &str, limit: Duration) -> Result<()> {
        let waited = wait::until(format!("a machine to say `{line}`"), limit, || async {
            let lines = self.lines()?;
            if lines.iter().any(|said| said == line) {
                return Ok(Seen::Done(()));
            }
            if let Some(failure) = lines.iter().find(|said| said.starts_with("failed:")) {
                return Ok(Seen::Never(anyhow!("{failure}")));
            }
            Ok(Seen::NotYet(lines.last().cloned().unwrap_or_else(|| "nothing said".to_owned())))
        });
        waited.await.with_context(|| format!("its serial port ended with:\n{}", tail(&self.path, 30)))
    }
}
