//! Writing an image to a disk: all of it, or nothing that looks like it.
//!
//! What can be found out before the disk is touched is found out then. The disk's ends are held back until everything else
//! is there (see [`crate::target`]), so that an image that is not what it should be, or a power cut, leaves a disk that
//! nothing boots from.

mod image;
mod volume;

use std::{io, path::Path};

use beskar7_agent_protocol::{
    hardware::Disk,
    order::{DiskHints, Install},
    report::{Installed, Progress},
};

use self::{image::OpenedImage, volume::Volume};
use crate::{
    boot_entry::{self, Architecture, Written},
    disks,
    fetching::Fetch,
    partitions::{self, Wanted},
    target::{Device, Staged},
    telling::{Problem, Telling},
};

/// How a disk is chosen: by hints, and by the bytes that it must have at least.
pub type Choose = for<'d> fn(&'d [Disk], &DiskHints, u64) -> Result<&'d Disk, Problem>;

/// What an installation touches beside the network.
pub struct Surroundings<'a> {
    /// Chooses a disk.
    pub choose: Choose,
    /// Opens one.
    pub open: &'a dyn Fn(&Disk) -> io::Result<Box<dyn Device>>,
    /// Tells the kernel to read a disk's partition table again. The disk is closed by then.
    pub tell_kernel: &'a dyn Fn(&Disk) -> io::Result<()>,
    /// Where the firmware's variables are: `/sys/firmware/efi/efivars`. It is not there where the machine was not started
    /// by UEFI.
    pub variables: &'a Path,
    /// What the machine runs, where that has loaders: by which they are named.
    pub architecture: Option<Architecture>,
}

/// Writes an image to a disk.
///
/// # Errors
/// It was not done. The disk is as it was, or holds nothing that boots.
pub fn install(
    order: &Install,
    disks: &[Disk],
    fetch: &dyn Fetch,
    telling: &dyn Telling,
    surroundings: &Surroundings<'_>,
) -> Result<Installed, Problem> {
    telling.progress(Progress { step: "fetching".into(), ..Progress::default() });
    let image = OpenedImage::open(&order.image, fetch)?;
    let volume = order.configuration.as_ref().map(|wanted| Volume::open(wanted, fetch)).transpose()?;
    let disk = choose(order, disks, &image, volume.as_ref(), surroundings.choose)?;
    telling.log(&format!("installing on {}, {} bytes", disk.path, disk.size_bytes));
    let image = image.verify(disk, telling)?;
    let device = (surroundings.open)(disk)
        .map_err(|error| Problem::with_disk("writing", &disk.path, format!("it can't be opened: {error}")))?;
    let work = Work { disk, sector: disk.sector_bytes.max(512).into(), telling };
    work.check_size(&*device, image.size())?;
    let mut staged = Staged::begin(&*device).map_err(|error| work.failed("writing", &error))?;
    let (written, verified) = image.write(&mut staged, &work)?;
    let written = written + work.configure(&mut staged, written, volume)?;
    staged.publish().map_err(|error| work.failed("writing", &error))?;
    let boot_entry = work.write_entry(&staged, surroundings)?;
    drop(device);
    // The machine is about to restart: whether its kernel knows the new partitions decides nothing.
    if let Err(error) = (surroundings.tell_kernel)(disk) {
        telling.log(&format!("the kernel did not read the partitions of {} again: {error}", disk.path));
    }
    let serial_number = disk.serial_number.clone();
    Ok(Installed { disk: disk.path.clone(), serial_number, written, verified, boot_entry })
}

/// A disk with room behind the image for the configuration is better; but an image may have room in itself.
fn choose<'d>(
    order: &Install,
    disks: &'d [Disk],
    image: &OpenedImage<'_>,
    volume: Option<&Volume<'_>>,
    choose: Choose,
) -> Result<&'d Disk, Problem> {
    if image.size().is_none() {
        disks::check_unknown_size(disks, &order.disk)?;
    }
    let least = image.size().unwrap_or(0);
    let room = volume.map_or(0, Volume::room);
    choose(disks, &order.disk, least.saturating_add(room)).or_else(|_| choose(disks, &order.disk, least))
}

/// A disk that is worked on.
struct Work<'a> {
    disk: &'a Disk,
    sector: u64,
    telling: &'a dyn Telling,
}

impl Work<'_> {
    fn failed(&self, step: &'static str, why: &impl ToString) -> Problem {
        Problem::with_disk(step, &self.disk.path, why.to_string())
    }

    fn tell(&self, step: &str) {
        let disk = Some(self.disk.path.clone());
        self.telling.progress(Progress { step: step.to_owned(), disk, ..Progress::default() });
    }

    fn check_size(&self, device: &dyn Device, size: Option<u64>) -> Result<(), Problem> {
        let length = device.length();
        match size.filter(|size| *size > length) {
            None => Ok(()),
            Some(size) => {
                let why = format!(
                    "the image has {size} bytes, and the disk {length}: choose a larger disk or a smaller image"
                );
                Err(self.failed("writing", &why))
            }
        }
    }

    /// Makes the partition table fit the disk, and writes the configuration: how many bytes it has.
    fn configure(
        &self,
        staged: &mut Staged<'_>,
        written: u64,
        volume: Option<Volume<'_>>,
    ) -> Result<u64, Problem> {
        self.tell("configuring");
        let wanted = volume.as_ref().map(|volume| Wanted { name: volume.label(), length: volume.length() });
        let place = partitions::adapt(staged, self.sector, written, wanted);
        let place = place.map_err(|error| self.failed("configuring", &error))?;
        match volume.zip(place) {
            Some((volume, place)) => volume.write(staged, place, self),
            None => Ok(0),
        }
    }

    /// Firmware that can't keep an entry starts a disk nevertheless, where that has a loader at the usual place.
    fn write_entry(
        &self,
        staged: &Staged<'_>,
        surroundings: &Surroundings<'_>,
    ) -> Result<Option<String>, Problem> {
        self.tell("booting");
        let Some(architecture) = surroundings.architecture else { return Ok(None) };
        match boot_entry::write(staged, self.sector, surroundings.variables, architecture) {
            Ok(Written::Entry(name)) => Ok(Some(name)),
            Ok(Written::None(why)) => {
                self.telling.log(&format!("no boot entry: {why}"));
                Ok(None)
            }
            Err(error) if error.has_fallback => {
                self.telling
                    .log(&format!("no boot entry: {}; the firmware finds the loader by itself", error.why));
                Ok(None)
            }
            Err(error) => Err(self.failed("booting", &error.why)),
        }
    }
}

#[cfg(test)]
#[path = "installation_tests.rs"]
mod tests;
