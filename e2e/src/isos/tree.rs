//! A folder that becomes an ISO, and the El Torito image for UEFI: a FAT file system made by mtools.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::installed::Installed;
use crate::process::Command;

/// The time of everything in an ISO: the same inputs give the same bytes.
const EPOCH: u64 = 1_700_000_000;
const LIMIT: Duration = Duration::from_secs(120);

/// A folder that becomes an ISO.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    installed: &'a Installed,
    root: PathBuf,
}

impl<'a> Tree<'a> {
    pub(super) fn new(installed: &'a Installed, root: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&root).with_context(|| format!("making {}", root.display()))?;
        Ok(Self { installed, root })
    }

    /// Where a file of it is.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A file with this text.
    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let at = self.room_for(path)?;
        std::fs::write(&at, content).with_context(|| format!("writing {path}"))
    }

    /// A copy of a file.
    pub(super) fn copy(&self, from: &Path, path: &str) -> Result<()> {
        let at = self.room_for(path)?;
        std::fs::copy(from, &at).with_context(|| format!("copying {}", from.display()))?;
        Ok(())
    }

    fn room_for(&self, path: &str) -> Result<PathBuf> {
        let at = self.at(path);
        let folder = at.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(at)
    }

    /// Lists the checksums of all files but those below `except` in md5sum.txt.
    pub(super) async fn sum(&self, except: &[&str]) -> Result<()> {
        let mut files = Vec::new();
        list(&self.root, "./", &mut files)?;
        files.retain(|file| !except.iter().any(|prefix| file.starts_with(&format!("./{prefix}"))));
        files.sort();
        let command = Command::new("md5sum", &self.installed.md5sum).current_dir(&self.root).args(files);
        let sums = command.run(LIMIT).await?.success()?;
        self.write("md5sum.txt", sums)
    }

    /// Makes the ISO: `options` are those of mkisofs, as xorriso takes them.
    pub(super) async fn into_iso(self, options: &[&str], to: &Path) -> Result<PathBuf> {
        let mut files = Vec::new();
        list(&self.root, "", &mut files)?;
        for file in &files {
            set_time(&self.at(file))?;
        }
        let command = Command::new("xorriso", &self.installed.xorriso)
            .env("SOURCE_DATE_EPOCH", EPOCH.to_string())
            .args(["-as", "mkisofs", "-quiet", "-o"])
            .arg(to)
            .args(["-r", "--set_all_file_dates", &format!("={EPOCH}")])
            .args(options)
            .arg(&self.root);
        command.run(LIMIT).await?.success()?;
        Ok(to.to_owned())
    }
}

/// Makes a FAT file system with these files in it, each named by its path there.
pub(super) async fn fat(installed: &Installed, to: &Path, files: &[(&str, &Path)]) -> Result<()> {
    let mut size = 0;
    for (_, from) in files {
        size += std::fs::metadata(from).with_context(|| format!("the size of {}", from.display()))?.len();
    }
    // Room for the tables and directories, in whole MiB.
    let size = (size + (1 << 20)).next_multiple_of(1 << 20);
    let image = File::create(to).with_context(|| format!("making {}", to.display()))?;
    image.set_len(size).with_context(|| format!("the size of {}", to.display()))?;
    let tool = |name: &str, program: &Path| {
        Command::new(name, program).env("SOURCE_DATE_EPOCH", EPOCH.to_string()).env("TZ", "UTC")
    };
    let format = tool("mformat", &installed.mformat).arg("-i").arg(to);
    let sectors = (size / 512).to_string();
    format
        .args(["-N", "b7b7b7b7", "-v", "EFI", "-T", &sectors, "-h", "64", "-s", "32", "::"])
        .run(LIMIT)
        .await?
        .success()?;
    // mcopy copies folders whole: they are laid out in one of their own.
    let laid_out = tempfile::tempdir().context("a folder for the files of a FAT")?;
    let folder = laid_out.path();
    for (path, from) in files {
        let at = folder.join(path);
        std::fs::create_dir_all(at.parent().unwrap_or(folder)).with_context(|| format!("room for {path}"))?;
        std::fs::copy(from, &at).with_context(|| format!("copying {}", from.display()))?;
    }
    // Those of folders too, when nothing is put into them any more: mcopy takes over their times.
    for (path, _) in files {
        for above in folder.join(path).ancestors().take_while(|above| *above != folder) {
            set_time(above)?;
        }
    }
    let mut top: Vec<PathBuf> = Vec::new();
    for (path, _) in files {
        let first = folder.join(path.split('/').next().unwrap_or(path));
        if !top.contains(&first) {
            top.push(first);
        }
    }
    let copy = tool("mcopy", &installed.mcopy).args(["-s", "-m", "-i"]).arg(to).args(top).arg("::/");
    copy.run(LIMIT).await?.success()?;
    Ok(())
}

fn set_time(path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(EPOCH);
    file.set_modified(time).with_context(|| format!("the time of {}", path.display()))
}

/// The files below a folder, each behind `prefix`.
fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}
