//! The image that is written: noise, which nothing can be left out of.

use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
use std::path::Path;

use anyhow::Result;
use ring::digest::{Context, SHA256};

/// Makes one of so many MiB: its SHA-256, in hex.
///
/// # Errors
/// It can't be written.
pub fn make(path: &Path, mebibytes: u64) -> Result<String> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut random = fastrand::Rng::with_seed(7);
    let mut digest = Context::new(&SHA256);
    let mut block = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        random.fill(&mut block);
        digest.update(&block);
        file.write_all(&block)?;
    }
    file.flush()?;
    Ok(digest.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a disk begins with it.
///
/// # Errors
/// One of them can't be read.
pub fn is_on(disk: &mut File, path: &Path) -> Result<bool> {
    let mut image = File::open(path)?;
    let (mut expected, mut found) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    for _ in 0..image.metadata()?.len() >> 20 {
        image.read_exact(&mut expected)?;
        disk.read_exact(&mut found)?;
        if expected != found {
            return Ok(false);
        }
    }
    Ok(true)
}
