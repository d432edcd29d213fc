//! Where everything of a volume goes.
//!
//! In this order: sixteen empty sectors, descriptors, boot catalog, path tables, directories, files, blanks.

use super::descriptor::{self, Volume};
use super::field::{Extent, SECTOR, to_sector_end};
use super::hierarchy::{ByteOrder, Hierarchy, Kind, Places};
use crate::error::VolumeError;
use crate::plan::Plan;
use crate::tree::Tree;

/// What the standard leaves to others, such as partition tables.
const SYSTEM_AREA: u64 = 16;
/// Blanks at the end. Drives and kernels read ahead, and some fail at the end of a disc. No BMC is known to refuse small
/// images; mkisofs and xorriso leave as many blanks, so that no volume is smaller than what people give to BMCs already.
const BLANKS: u64 = 150;

/// Gives out sectors.
#[derive(Debug)]
struct Sectors {
    next: u64,
}

impl Sectors {
    fn take(&mut self, bytes: u64) -> Result<Extent, VolumeError> {
        let first = self.next;
        self.next += bytes.div_ceil(SECTOR as u64);
        let end = self.next * SECTOR as u64;
        match (u32::try_from(first), u32::try_from(bytes), u32::try_from(end)) {
            (Ok(sector), Ok(bytes), Ok(_)) => Ok(Extent { sector, bytes }),
            (Ok(_) | Err(_), Ok(_) | Err(_), Ok(_) | Err(_)) => {
                Err(VolumeError::LargerThanAny { bytes: end, most: u32::MAX.into() })
            }
        }
    }
}

/// One tree and where it is.
#[derive(Debug)]
struct Placed {
    kind: Kind,
    hierarchy: Hierarchy,
    little_table: Extent,
    big_table: Extent,
    places: Places,
}

impl Placed {
    fn new(kind: Kind, tree: &Tree<'_>, sectors: &mut Sectors) -> Result<Self, VolumeError> {
        let hierarchy = Hierarchy::new(&tree.root, kind);
        let nowhere = Places::default();
        let table = hierarchy.path_table(&nowhere, ByteOrder::Little).len() as u64;
        let (little_table, big_table) = (sectors.take(table)?, sectors.take(table)?);
        let sizes = hierarchy.directories(&nowhere).map(|bytes| bytes.len() as u64);
        let directories = sizes.map(|bytes| sectors.take(bytes)).collect::<Result<_, _>>()?;
        let places = Places { directories, files: Vec::new() };
        Ok(Self { kind, hierarchy, little_table, big_table, places })
    }

    fn descriptor(&self, label: &str, sectors: u32) -> Vec<u8> {
        let (little_table, big_table) = (self.little_table, self.big_table);
        let root_record = self.hierarchy.root_record(&self.places);
        descriptor::of_tree(self.kind, &Volume { label, sectors, root_record, little_table, big_table })
    }

    /// Path tables and directories.
    fn write(&self, to: &mut Vec<u8>) {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            to.extend(self.hierarchy.path_table(&self.places, order));
            to_sector_end(to);
        }
        for directory in self.hierarchy.directories(&self.places) {
            to.extend(directory);
        }
    }
}

/// Plans a volume; `boot` is the place of the file that firmware starts from.
pub(super) fn plan(label: &str, tree: &Tree<'_>, boot: Option<usize>) -> Result<Plan, VolumeError> {
    let mut sectors = Sectors { next: SYSTEM_AREA + 3 };
    let catalog = match boot {
        Some(_) => {
            sectors.next += 1;
            Some(sectors.take(SECTOR as u64)?)
        }
        None => None,
    };
    let mut primary = Placed::new(Kind::Primary, tree, &mut sectors)?;
    let mut joliet = Placed::new(Kind::Joliet, tree, &mut sectors)?;
    let files: Vec<Extent> =
        tree.files.iter().map(|file| sectors.take(file.length)).collect::<Result<_, _>>()?;
    let blanks = sectors.take(BLANKS * SECTOR as u64)?;
    primary.places.files.clone_from(&files);
    joliet.places.files.clone_from(&files);

    let end = blanks.sector + blanks.bytes.div_ceil(2048);
    let mut head = primary.descriptor(label, end);
    // El Torito wants its descriptor second.
    head.extend(catalog.map(descriptor::of_boot).unwrap_or_default());
    head.extend(joliet.descriptor(label, end));
    head.extend(descriptor::end());
    if let Some(started) = boot.and_then(|file| files.get(file)) {
        head.extend(descriptor::catalog(*started));
    }
    primary.write(&mut head);
    joliet.write(&mut head);

    let mut plan = Plan::new(&tree.given);
    plan.zeros(SYSTEM_AREA * SECTOR as u64);
    plan.bytes(head);
    for file in &tree.files {
        plan.file(file.given, SECTOR as u64);
    }
    plan.zeros(blanks.bytes.into());
    Ok(plan)
}
