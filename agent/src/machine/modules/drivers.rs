//! Loads what devices need, until nothing new appears.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Modules, matching, modaliases, wishes};
use crate::journal::Journal;

/// A device that a driver reveals may take a moment to show.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// So often nothing new must have been seen.
const QUIET_LOOKS: usize = 3;
/// A bus that brings up devices for ever is not waited for.
const MOST_LOOKS: usize = 50;

/// What loads a module: its file.
type Insert<'a> = &'a (dyn Fn(&Path) -> io::Result<()> + Send + Sync);

/// The drivers of a machine.
pub struct Drivers<'a> {
    /// Where the modules of this kernel are.
    directory: PathBuf,
    sys: PathBuf,
    journal: &'a Journal,
    insert: Insert<'a>,
    modules: Modules,
    seen: BTreeSet<String>,
    tried: HashSet<String>,
}

impl<'a> Drivers<'a> {
    /// Those of a kernel, from its directory below `/lib/modules`.
    ///
    /// # Errors
    /// Its tables can't be read.
    pub fn open(
        directory: PathBuf,
        sys: PathBuf,
        journal: &'a Journal,
        insert: Insert<'a>,
    ) -> io::Result<Self> {
        let dependencies = fs::read_to_string(directory.join("modules.dep"))?;
        // A kernel without any has no such table.
        let built_in = fs::read_to_string(directory.join("modules.builtin")).unwrap_or_default();
        // Nothing is wished for where there is none of these.
        let [soft, aliases] =
            ["softdep", "alias"].map(|table| fs::read_to_string(directory.join(format!("modules.{table}"))));
        let wishes = wishes(&soft.unwrap_or_default(), &aliases.unwrap_or_default());
        let modules = Modules::parse(&dependencies, &built_in).wishing(wishes);
        let (seen, tried) = (BTreeSet::new(), HashSet::new());
        Ok(Self { directory, sys, journal, insert, modules, seen, tried })
    }

    /// Loads these, as far as they are there.
    pub fn load_named(&mut self, names: &[&str]) {
        for name in names {
            self.load(name);
        }
    }

    /// Loads what the devices need that were not there before. Says how many modules were loaded.
    ///
    /// # Errors
    /// The table can't be read.
    pub fn load_for_new_devices(&mut self) -> io::Result<usize> {
        let devices = modaliases(&self.sys);
        let new: BTreeSet<String> = devices.difference(&self.seen).cloned().collect();
        if new.is_empty() {
            return Ok(0);
        }
        // Read each time: new devices are rare, and it is as large as everything else that is kept.
        let table = fs::read_to_string(self.directory.join("modules.alias"))?;
        let wanted = matching(&table, &new);
        self.seen.extend(new);
        Ok(wanted.iter().map(|name| self.load(name)).sum())
    }

    /// Loads what devices need, until no new ones appear.
    ///
    /// # Errors
    /// The table can't be read.
    pub fn settle(&mut self) -> io::Result<usize> {
        let (mut loaded, mut quiet) = (0, 0);
        for _ in 0..MOST_LOOKS {
            match self.load_for_new_devices()? {
                0 => quiet += 1,
                more => (loaded, quiet) = (loaded + more, 0),
            }
            if quiet == QUIET_LOOKS {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(loaded)
    }

    /// Loads a module, and before it what it needs. What can't be loaded is told once, and not tried again. What is not in
    /// the ramdisk is left: whoever made that has chosen from what a distribution would load.
    fn load(&mut self, name: &str) -> usize {
        let is_there = |path: &str| self.directory.join(path).exists();
        if !self.modules.path_of(name).is_some_and(is_there) {
            return 0;
        }
        let order = match self.modules.in_order(name) {
            Ok(order) => order,
            Err(missing) => {
                if self.tried.insert(name.to_owned()) {
                    self.journal.say(&format!("driver {name} is not loaded: {missing}"));
                }
                return 0;
            }
        };
        let mut loaded = 0;
        for (module, path) in order {
            if !self.tried.insert(module.clone()) {
                continue;
            }
            match (self.insert)(&self.directory.join(path)) {
                Ok(()) => loaded += 1,
                Err(error) => {
                    self.journal.say(&format!("driver {module} is not loaded: {error}"));
                }
            }
        }
        loaded
    }
}

/// Gives a module to the kernel. One that it has already, or that finds nothing to do on this machine, is no mistake.
///
/// # Errors
/// The file can't be read, or the kernel does not take it.
pub fn insert(path: &Path) -> io::Result<()> {
    match rustix::system::finit_module(File::open(path)?, c"", 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::NODEV) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[path = "drivers_tests.rs"]
mod tests;
