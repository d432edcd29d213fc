//! Where everything of a volume goes, and writing it down.
//!
//! In this order: sixteen empty sectors, descriptors, boot catalog, path tables, directories, files, blanks.

use bytes::Bytes;

use super::descriptor::{self, Volume};
use super::field::{Extent, SECTOR, sectors, to_sector_end};
use super::hierarchy::{ByteOrder, Hierarchy, Kind, Places};
use super::tree::Tree;
use super::{MOST_BYTES, VolumeError};

/// What the standard leaves to others, such as partition tables.
const SYSTEM_AREA: usize = 16;
/// Blanks at the end. Drives and kernels read ahead, and some fail at the end of a disc. No BMC is known to refuse small
/// images; mkisofs and xorriso leave as many blanks, so that no volume is smaller than what people give to BMCs already.
const BLANKS: usize = 150;

/// Gives out sectors.
#[derive(Debug)]
struct Sectors {
    next: usize,
}

impl Sectors {
    fn take(&mut self, bytes: usize) -> Result<Extent, VolumeError> {
        let first = self.next;
        self.next += sectors(bytes);
        let end = self.next * SECTOR;
        match (u32::try_from(first), u32::try_from(bytes)) {
            (Ok(sector), Ok(bytes)) if end <= MOST_BYTES => Ok(Extent { sector, bytes }),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(VolumeError::TooLarge { bytes: end }),
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
    fn new(kind: Kind, tree: &Tree, sectors: &mut Sectors) -> Result<Self, VolumeError> {
        let hierarchy = Hierarchy::new(&tree.root, kind);
        let nowhere = Places::default();
        let table = hierarchy.path_table(&nowhere, ByteOrder::Little).len();
        let (little_table, big_table) = (sectors.take(table)?, sectors.take(table)?);
        let sizes = hierarchy.directories(&nowhere).map(|bytes| bytes.len());
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

/// Writes a volume; `boot` is the place of the file that firmware starts from.
pub(super) fn write(label: &str, tree: &Tree, boot: Option<usize>) -> Result<Bytes, VolumeError> {
    let mut sectors = Sectors { next: SYSTEM_AREA + 3 };
    let catalog = match boot {
        Some(_) => {
            sectors.next += 1;
            Some(sectors.take(SECTOR)?)
        }
        None => None,
    };
    let mut primary = Placed::new(Kind::Primary, tree, &mut sectors)?;
    let mut joliet = Placed::new(Kind::Joliet, tree, &mut sectors)?;
    let files: Vec<Extent> =
        tree.files.iter().map(|file| sectors.take(file.len())).collect::<Result<_, _>>()?;
    let blanks = sectors.take(BLANKS * SECTOR)?;
    primary.places.files.clone_from(&files);
    joliet.places.files.clone_from(&files);

    let mut image = Vec::with_capacity(sectors.next * SECTOR);
    image.resize(SYSTEM_AREA * SECTOR, 0);
    let end = blanks.sector + blanks.bytes.div_ceil(2048);
    image.extend(primary.descriptor(label, end));
    // El Torito wants its descriptor second.
    image.extend(catalog.map(descriptor::of_boot).unwrap_or_default());
    image.extend(joliet.descriptor(label, end));
    image.extend(descriptor::end());
    if let Some(started) = boot.and_then(|file| files.get(file)) {
        image.extend(descriptor::catalog(*started));
    }
    primary.write(&mut image);
    joliet.write(&mut image);
    for file in &tree.files {
        image.extend_from_slice(file);
        to_sector_end(&mut image);
    }
    image.resize(sectors.next * SECTOR, 0);
    Ok(Bytes::from(image))
}
