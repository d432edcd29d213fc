//! A kernel's modules: where they are, and which of them go into the ramdisk.

pub mod choice;
pub mod index;
pub mod unpack;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use self::index::{Index, Lists};

/// What is wanted of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Everything.
    pub all: bool,
    /// Besides what is always taken, by name.
    pub more: Vec<String>,
}

/// A tree of modules.
#[derive(Debug)]
pub struct Modules {
    folder: PathBuf,
    release: String,
    index: Index,
}

/// A module that goes into the ramdisk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Where it is.
    pub from: PathBuf,
    /// Its path in the ramdisk's tree, unpacked: `kernel/…/virtio_net.ko`.
    pub path: String,
}

impl Modules {
    /// Opens the tree of a kernel: the folder itself, one above it (`/usr/lib/modules`), or a root that has it.
    ///
    /// # Errors
    /// There is none, or none that depmod has been over.
    pub fn open(path: &Path, release: &str) -> Result<Self> {
        let folder = find(path, release)?;
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
        };
        let optional = |name: &str| if folder.join(name).exists() { read(name) } else { Ok(String::new()) };
        let index = Index::new(
            &read("modules.dep")?,
            read("modules.alias")?,
            optional("modules.softdep")?,
            optional("modules.builtin")?,
        );
        Ok(Self { folder, release: release.to_owned(), index })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What goes into the ramdisk, sorted, and the lists of it.
    ///
    /// # Errors
    /// Something that is wanted is not there, or nothing that drives a network card or a disk.
    pub fn choose(&self, wanted: &Wanted) -> Result<(Vec<Module>, Lists)> {
        let mut chosen: Vec<&str> =
            self.index.paths().filter(|path| wanted.all || choice::is_taken(path)).collect();
        for name in &wanted.more {
            match self.index.path(name) {
                Some(path) => chosen.push(path),
                None if self.index.is_builtin(name) => {}
                None => bail!(
                    "{} has no module {name:?}; names are those of lsmod, without a path and without .ko",
                    self.folder.display()
                ),
            }
        }
        let taken = self.index.with_needs(chosen);
        self.check_drivers(&taken)?;
        let module =
            |path: &&str| Module { from: self.folder.join(path), path: index::plain(path).to_owned() };
        Ok((taken.iter().map(module).collect(), self.index.lists(&taken)))
    }

    fn check_drivers(&self, taken: &BTreeSet<&str>) -> Result<()> {
        let any = |is_one: fn(&str) -> bool| taken.iter().copied().chain(self.index.builtin()).any(is_one);
        for (is_one, what) in [
            (choice::is_network_driver as fn(&str) -> bool, "network cards"),
            (choice::is_disk_driver, "disks"),
        ] {
            if !any(is_one) {
                bail!(
                    "{} has no driver for {what}: where a distribution has them in a package of their own \
                     (linux-modules-extra-…), install that, too",
                    self.folder.display()
                );
            }
        }
        Ok(())
    }

    /// Reads a module, unpacked, and looks whether it is one of this kernel.
    ///
    /// # Errors
    /// It can't be read, or is of another kernel.
    pub fn read(&self, module: &Module) -> Result<Vec<u8>> {
        let content = unpack::read(&module.from)?;
        match made_for(&content) {
            Some(release) if release == self.release => Ok(content),
            Some(release) => bail!(
                "{} is of the kernel {release}, and the kernel is {}: the two must be of the same version",
                module.from.display(),
                self.release
            ),
            None => bail!("{} is no module: it does not say of which kernel it is", module.from.display()),
        }
    }
}

fn find(path: &Path, release: &str) -> Result<PathBuf> {
    if !path.is_dir() {
        bail!(
            "there are no modules at {}: name the folder of the kernel's modules, such as /lib/modules/{release} (on \
             Debian: apt-get install linux-image-amd64)",
            path.display()
        );
    }
    let below = ["", "lib/modules", "usr/lib/modules"].map(|above| path.join(above).join(release));
    let places = below.into_iter().chain([path.to_owned()]);
    let Some(folder) = places.into_iter().find(|place| place.join("kernel").is_dir()) else {
        let there = std::fs::read_dir(path).into_iter().flatten().flatten();
        let there: Vec<String> =
            there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        bail!(
            "{} has no modules of the kernel {release}, but {}: the two must be of the same version",
            path.display(),
            there.join(", ")
        );
    };
    if !folder.join("modules.dep").is_file() {
        bail!(
            "{} has no modules.dep: run depmod -b <the folder with lib in it> {release} (on Debian: apt-get install \
             kmod)",
            folder.display()
        );
    }
    Ok(folder)
}

/// The release that a module was made for: the first word of what it calls its version magic.
fn made_for(module: &[u8]) -> Option<&str> {
    const MARK: &[u8] = b"\0vermagic=";
    let start = module.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let text = module.get(start..)?.split(|byte| *byte == 0 || *byte == b' ').next()?;
    str::from_utf8(text).ok()
}

#[cfg(test)]
#[path = "modules_tests.rs"]
mod tests;
