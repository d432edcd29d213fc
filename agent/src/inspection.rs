//! What a machine is made of, as its firmware and its kernel say.
//!
//! What neither of them tells is left out: an inventory with gaps is worth more than none.

mod cpu;
mod firmware;
mod listening;
mod lldp;
mod memory;
mod nics;
mod pci;
mod smbios;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path, thread};

use beskar7_agent_protocol::{
    hardware::{Inventory, Neighbour, Nic},
    report::Progress,
};

pub use self::listening::{Interface, Listening};
use self::smbios::Table;
use crate::{
    disks,
    telling::{Problem, Telling},
};

const STEP: &str = "inspecting";

/// Where the other ends of cables are heard of.
pub trait Wire: Sync {
    /// Hears, for a while, what is at the other end of these interfaces, by their names. It ends early when all have
    /// spoken, or it is not wanted any more.
    ///
    /// # Errors
    /// Nothing can be heard, and why.
    fn listen(
        &self,
        interfaces: &[Interface],
        is_unwanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<BTreeMap<String, Neighbour>, String>;
}

/// Says what a machine is made of. Switches tell who they are every thirty seconds, which is what takes the time:
/// interfaces must be up for a while to have a link, and to hear. Disks are looked at behind that, until no more come: this
/// takes a pause between each two looks.
///
/// # Errors
/// The kernel's own lists can't be read, or nobody wants to know any more.
pub fn inspect(
    root: &Path,
    wire: &dyn Wire,
    telling: &dyn Telling,
    pause: impl FnMut(),
) -> Result<Inventory, Problem> {
    telling.progress(Progress { step: STEP.into(), ..Progress::default() });
    let (mut nics, interfaces) = nics::all(root)?;
    let is_unwanted = || telling.is_unwanted();
    let (inventory, heard) = thread::scope(|scope| {
        let heard = scope.spawn(|| wire.listen(&interfaces, &is_unwanted));
        let inventory = everything_else(root);
        (
            inventory,
            heard.join().unwrap_or_else(|_| Err("the agent failed while listening: this is a bug".into())),
        )
    });
    if telling.is_unwanted() {
        return Err(Problem::new(STEP, "the order is not wanted any more"));
    }
    match heard {
        Ok(neighbours) => introduce(&mut nics, neighbours),
        Err(reason) => {
            telling.log(&format!("what the network interfaces are connected to is not known: {reason}"))
        }
    }
    let inventory = inventory?;
    let disks = disks::settled(|| disks::all(root), pause)?;
    disks::left_alone(root)?.iter().for_each(|line| telling.log(line));
    Ok(Inventory { disks, nics, ..inventory })
}

/// The machine's UUID, where it has one of its own.
#[must_use]
pub fn uuid(root: &Path) -> Option<String> {
    firmware::system(root).uuid
}

/// All but the network and the disks.
fn everything_else(root: &Path) -> Result<Inventory, Problem> {
    let table = Table::read(root);
    Ok(Inventory {
        system: firmware::system(root),
        boot_mode: firmware::boot_mode(root),
        cpu: cpu::all(root, &table)?,
        memory_bytes: memory::installed(&table).or_else(|| memory::of_kernel(root)).unwrap_or(0),
        pci: pci::all(root)?,
        tpm: firmware::tpm(root),
        ..Inventory::default()
    })
}

fn introduce(nics: &mut [Nic], mut neighbours: BTreeMap<String, Neighbour>) {
    for nic in nics {
        nic.neighbour = neighbours.remove(&nic.name);
    }
}
