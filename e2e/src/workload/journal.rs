//! What happened to the nodes of a test, in a file beside the other logs: who looks for a node that did not come finds
//! here why.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

pub(super) struct Journal {
    file: File,
    begin: Instant,
}

impl Journal {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::options().create(true).append(true).open(path);
        Ok(Self { file: file.with_context(|| format!("opening {}", path.display()))?, begin: Instant::now() })
    }

    pub(super) fn note(&self, what: &str) {
        let line = format!("{:8.3} {what}\n", self.begin.elapsed().as_secs_f64());
        // Nobody stops for a line that is missing.
        (&self.file).write_all(line.as_bytes()).ok();
    }
}
