//! What the agent does to the machine that it runs on.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use beskar7_agent_device::block::reread_partitions;
use beskar7_agent_protocol::hardware::{Disk, Inventory};
use beskar7_agent_protocol::order::{Install, Thoroughness};
use beskar7_agent_protocol::report::{Cleaned, Installed, Progress};

use crate::boot_entry::Architecture;
use crate::cleaning::{clean, machine::Machine};
use crate::disks;
use crate::fetching::Fetch;
use crate::inspection::{self, Listening, inspect};
use crate::installation::{Surroundings, install};
use crate::target::{Device, DiskFile};
use crate::telling::{Problem, Telling};
use crate::work::Works;

/// Disks behind expanders and slow controllers come one after the other, and late.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// The machine that the agent runs on.
pub struct Tasks {
    /// Below which `/sys`, `/proc` and `/dev` are.
    pub root: PathBuf,
}

impl Tasks {
    fn path(&self, disk: &Disk) -> PathBuf {
        self.root.join(disk.path.trim_start_matches('/'))
    }

    fn open(&self, disk: &Disk) -> io::Result<Box<dyn Device>> {
        Ok(Box::new(DiskFile::open(&self.path(disk))?))
    }

    /// Says which disks are left alone, and why.
    fn tell_of_others(&self, telling: &dyn Telling) -> Result<(), Problem> {
        disks::left_alone(&self.root)?.iter().for_each(|line| telling.log(line));
        Ok(())
    }

    /// Wipes the disks, with a pause between two looks for more of them.
    fn clean_after(
        &self,
        pause: impl FnMut(),
        how: Thoroughness,
        telling: &dyn Telling,
    ) -> Result<Cleaned, Problem> {
        tell_looking(telling);
        let disks = disks::settled(|| disks::to_wipe(&self.root), pause)?;
        self.tell_of_others(telling)?;
        let disks = clean(&disks, how, &Machine::new(&self.root), telling)?;
        Ok(Cleaned { disks, undriven: disks::undriven_controllers(&self.root) })
    }

    fn tell_kernel(&self, disk: &Disk) -> io::Result<()> {
        reread_partitions(&File::open(self.path(disk))?).map_err(io::Error::other)
    }
}

impl Works for Tasks {
    fn uuid(&self) -> Option<String> {
        inspection::uuid(&self.root)
    }

    fn inspect(&self, telling: &dyn Telling) -> Result<Inventory, Problem> {
        inspect(&self.root, &Listening::new(Listening::USUAL), telling, pause)
    }

    fn clean(&self, how: Thoroughness, telling: &dyn Telling) -> Result<Cleaned, Problem> {
        self.clean_after(pause, how, telling)
    }

    fn install(
        &self,
        order: &Install,
        fetch: &dyn Fetch,
        telling: &dyn Telling,
    ) -> Result<Installed, Problem> {
        let surroundings = Surroundings {
            choose: disks::choose,
            open: &|disk| self.open(disk),
            tell_kernel: &|disk| self.tell_kernel(disk),
            variables: &self.root.join("sys/firmware/efi/efivars"),
            architecture: Architecture::of(rustix::system::uname().machine().to_str().unwrap_or_default()),
        };
        tell_looking(telling);
        let disks = disks::settled_for(&order.disk, || disks::all(&self.root), pause)?;
        self.tell_of_others(telling)?;
        install(order, &disks, fetch, telling, &surroundings)
    }
}

fn tell_looking(telling: &dyn Telling) {
    telling.progress(Progress { step: "looking for disks".to_owned(), ..Progress::default() });
}

fn pause() {
    thread::sleep(BETWEEN_LOOKS);
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
