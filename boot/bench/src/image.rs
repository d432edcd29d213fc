//! The image that is read: an ISO with boot loader configuration and a lot of noise.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Makes it, of about so many bytes.
pub fn make(own: &Path, bytes: u64) -> Result<PathBuf> {
    let tree = own.join("tree");
    fs::create_dir_all(tree.join("boot/grub"))?;
    let menu = "set timeout=0\nmenuentry 'Install' {\n  linux /vmlinuz quiet\n  initrd /initrd\n}\n";
    fs::write(tree.join("boot/grub/grub.cfg"), menu)?;
    noise(&tree.join("initrd"), bytes)?;
    let iso = own.join("image.iso");
    let made = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-R", "-J", "-V", "BENCH", "-o"])
        .arg(&iso)
        .arg(&tree)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("xorriso, which makes the image, can't be run: is it installed?")?;
    ensure!(made.success(), "xorriso: {made}");
    fs::remove_dir_all(&tree)?;
    Ok(iso)
}

fn noise(path: &Path, bytes: u64) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut random = fastrand::Rng::with_seed(7);
    let mut block = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        random.fill(&mut block);
        let take = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        file.write_all(block.get(..take).unwrap_or_default())?;
        left = left.saturating_sub(take as u64);
    }
    Ok(file.flush()?)
}
