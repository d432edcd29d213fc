//! The tools that look at images.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use beskar7_e2e::process::{Command, Output};

const LIMIT: Duration = Duration::from_secs(120);

/// What is needed besides what images are made with.
const NEEDED: [(&str, &str); 11] = [
    ("xorriso", "xorriso"),
    ("mcopy", "mtools"),
    ("mkfs.fat", "dosfstools"),
    ("fsck.fat", "dosfstools"),
    ("sfdisk", "fdisk"),
    ("sgdisk", "gdisk"),
    ("grub-script-check", "grub-common"),
    ("objcopy", "binutils"),
    ("mformat", "mtools"),
    ("mdir", "mtools"),
    ("md5sum", "coreutils"),
];

/// Where they are.
#[derive(Clone)]
pub struct Tools {
    programs: BTreeMap<&'static str, PathBuf>,
}

impl Tools {
    /// Finds them; nothing when one is missing, which is said.
    pub fn find(test: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // Those for administrators are not on everybody's path.
        let directories: Vec<PathBuf> =
            std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
        let mut programs = BTreeMap::new();
        for (name, package) in NEEDED {
            let Some(found) = directories.iter().map(|at| at.join(name)).find(|at| at.is_file()) else {
                beskar7_skipped::skipped(test, format!("{name} is not there: apt-get install {package}"));
                return None;
            };
            programs.insert(name, found);
        }
        Some(Self { programs })
    }

    /// Runs one to its end.
    pub async fn run(&self, name: &str, arguments: &[&str]) -> Result<Output> {
        let program = self.programs.get(name).with_context(|| format!("{name} is not looked for"))?;
        Command::new(name, program).args(arguments).env("MTOOLS_SKIP_CHECK", "1").run(LIMIT).await
    }

    /// Runs one that has to succeed, and gives what it said.
    pub async fn output(&self, name: &str, arguments: &[&str]) -> Result<String> {
        self.run(name, arguments).await?.success()
    }

    /// Runs one in a directory; it has to succeed.
    pub async fn output_in(&self, name: &str, arguments: &[&str], directory: &Path) -> Result<String> {
        let program = self.programs.get(name).with_context(|| format!("{name} is not looked for"))?;
        Command::new(name, program).args(arguments).current_dir(directory).run(LIMIT).await?.success()
    }

    /// All files of an image as one of its trees shows them, in a directory.
    pub async fn extract(&self, image: &Path, tree: &str, into: &Path) -> Result<()> {
        let to = into.to_string_lossy();
        let image = image.to_string_lossy();
        self.output(
            "xorriso",
            &["-read_fs", tree, "-osirrox", "on:auto_chmod_on", "-indev", &image, "-extract", "/", &to],
        )
        .await
        .map(drop)
    }

    /// All files of an image as one of its trees shows them.
    pub async fn tree(&self, image: &Path, tree: &str, into: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
        self.extract(image, tree, into).await?;
        let files = files(into)?;
        std::fs::remove_dir_all(into)?;
        Ok(files)
    }

    /// What xorriso says about how an image is started.
    pub async fn report(&self, image: &Path, command: &str) -> Result<Vec<String>> {
        let image = image.to_string_lossy();
        let said = self.output("xorriso", &["-indev", &image, command, "plain"]).await?;
        Ok(said.lines().map(str::to_owned).collect())
    }
}

/// The files below a directory, by path.
pub fn files(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).with_context(|| format!("listing {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(files)
}
