//! The entry by which UEFI firmware starts what was installed.
//!
//! Firmware that knows of none starts `\EFI\BOOT` of some disk, or the network again. So an entry of our own is put before
//! all others. It is named after us, and takes the place of the one that an earlier installation left.

mod fat;
mod load_option;
mod loader;
mod plan;
mod variables;

use std::path::Path;

pub use self::loader::Architecture;
use self::{fat::Fat, load_option::LoadOption, loader::Loader, variables::Variables};
use crate::{
    partitions::{ESP, Gpt},
    target::Staged,
};

/// What people see in the firmware's list.
const DESCRIPTION: &str = "beskar7";

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// There is an entry: `Boot0007`.
    Entry(String),
    /// The machine was not started by UEFI, or nothing on the disk can be: this is why.
    None(&'static str),
}

/// Why there is no entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoEntry {
    /// What happened.
    pub why: String,
    /// Whether firmware finds a loader on this disk without one.
    pub has_fallback: bool,
}

/// Writes the entry for what is on a disk, into a directory with the firmware's variables.
///
/// # Errors
/// The disk can't be read, or the variables not be written.
pub fn write(
    disk: &Staged<'_>,
    sector: u64,
    variables: &Path,
    architecture: Architecture,
) -> Result<Written, NoEntry> {
    if !variables.is_dir() {
        return Ok(Written::None("the machine was not started by UEFI"));
    }
    let without = |why: String| NoEntry { why, has_fallback: false };
    let gpt = Gpt::read(disk, sector).map_err(|error| without(error.to_string()))?;
    let esp = gpt.as_ref().and_then(|gpt| gpt.partitions().find(|partition| partition.kind == ESP));
    let Some(esp) = esp else { return Ok(Written::None("the image has no EFI system partition")) };
    let fat = Fat::open(disk, esp.first * sector).map_err(|error| without(error.to_string()))?;
    let Some(fat) = fat else { return Ok(Written::None("the image's EFI system partition is no FAT")) };
    let found = Loader::find(&fat, architecture).map_err(|error| without(error.to_string()))?;
    let Some(loader) = found else { return Ok(Written::None("the image has no loader that is known")) };
    let option = LoadOption { description: DESCRIPTION, partition: esp, path: &loader.path }.encode();
    let number = write_entry(&Variables::new(variables), &option)
        .map_err(|error| NoEntry { why: error.to_string(), has_fallback: loader.has_fallback })?;
    Ok(Written::Entry(format!("Boot{number:04X}")))
}

/// The entry is there before the order names it, and an old one goes when the order names it no more.
fn write_entry(variables: &Variables<'_>, option: &[u8]) -> std::io::Result<u16> {
    let existing = variables.entries()?;
    let order = variables.order()?;
    let plan = plan::plan(&existing, &order, option, DESCRIPTION)
        .ok_or_else(|| std::io::Error::other("the firmware has no number left for an entry"))?;
    if plan.is_new {
        variables.write_entry(plan.number, option)?;
    }
    if plan.order != order {
        variables.write_order(&plan.order)?;
    }
    for old in &plan.removed {
        variables.remove_entry(*old)?;
    }
    Ok(plan.number)
}

#[cfg(test)]
#[path = "boot_entry_tests.rs"]
mod tests;
