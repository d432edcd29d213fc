//! Which bytes have to differ.
//!
//! What fits where it was stays there. What does not gets a new place behind the image, and everything that points at
//! it points there: names in every tree, the boot catalog, partitions.

use std::ops::Range;

use super::{
    assembly::{Assembly, What},
    disk::{BLOCK, Growth, Moved},
    error::OverlayError,
    fat::Rebuilt,
    fields::both_orders,
    image::{File, Image, SystemPartition},
    iso::{NamePlace, SECTOR, sectors},
    loader::Arguments,
    overlaid::Overlay,
};

/// A plan in the making.
struct Plan {
    assembly: Assembly,
    moved: Vec<Moved>,
    changed_files: Vec<String>,
    configuration: Vec<Range<u64>>,
}

/// The changes that bring these parameters into an image.
///
/// # Errors
/// A boot loader can't hand one of them over, or there is no room for them.
pub fn overlay(image: &Image, arguments: &[String]) -> Result<Overlay, OverlayError> {
    let mut arguments = Arguments::new(arguments);
    if image.casper {
        // Ubuntu's initramfs checks the medium against its list, file systems and all, for minutes.
        arguments = arguments.and("fsck.mode=skip");
    }
    let mut plan = Plan {
        assembly: Assembly::new(image.length),
        moved: Vec::new(),
        changed_files: Vec::new(),
        configuration: Vec::new(),
    };
    for file in &image.files {
        plan.file(file, &arguments)?;
    }
    for partition in &image.partitions {
        plan.partition(partition, &arguments)?;
    }
    plan.enclose(image)?;
    let length = plan.assembly.end();
    plan.configuration.sort_by_key(|range| range.start);
    Ok(Overlay {
        original: image.length,
        length,
        pieces: plan.assembly.finish()?,
        changed_files: plan.changed_files,
        loader_configuration: plan.configuration,
    })
}

impl Plan {
    /// A place behind the image.
    fn append(&mut self, length: u64, what: What) -> u64 {
        self.assembly.align(SECTOR);
        self.assembly.append(length, what)
    }

    fn file(&mut self, file: &File, arguments: &Arguments) -> Result<(), OverlayError> {
        let text = file.kind.edit(&file.text, arguments)?.text;
        if text == file.text {
            return Ok(());
        }
        self.changed_files.push(file.path.clone());
        for checksum in &file.checksums {
            self.assembly.patch(checksum.at, checksum.of(&text));
        }
        let length = text.len() as u64;
        let old_length = file.text.len() as u64;
        let start = if length <= sectors(old_length) {
            let mut whole = text;
            whole.resize(whole.len().max(file.text.len()), 0);
            let start = u64::from(file.block) * SECTOR;
            self.assembly.patch(start, whole);
            start
        } else {
            let start = self.append(length, What::Memory(text.into()));
            self.assembly.align(SECTOR);
            start
        };
        self.configuration.push(start..start + length);
        self.redirect(&file.places, start, length)
    }

    fn partition(&mut self, partition: &SystemPartition, arguments: &Arguments) -> Result<(), OverlayError> {
        let Some(rebuilt) = partition.fat.rebuild(arguments)? else { return Ok(()) };
        let names = rebuilt.changed_files.iter().map(|path| format!("{}:{path}", partition.path));
        self.changed_files.extend(names);
        let start = if rebuilt.pieces.is_empty() {
            partition.fat.start()
        } else {
            self.move_partition(partition, &rebuilt)?
        };
        for (place, bytes) in rebuilt.patches {
            self.assembly.patch(start + place, bytes);
        }
        self.configuration
            .extend(rebuilt.configuration.iter().map(|range| start + range.start..start + range.end));
        Ok(())
    }

    /// Puts a larger EFI system partition behind the image.
    fn move_partition(
        &mut self,
        partition: &SystemPartition,
        rebuilt: &Rebuilt,
    ) -> Result<u64, OverlayError> {
        self.assembly.align(SECTOR);
        let start = self.assembly.end();
        for (length, what) in &rebuilt.pieces {
            self.assembly.append(*length, what.clone());
        }
        let length = self.assembly.end() - start;
        self.assembly.align(SECTOR);
        self.redirect(&partition.places, start, length)?;
        let block = block(start)?;
        for boot in &partition.boots {
            // Many have one sector there, or none, and firmware takes what the file system says.
            // A file system may be some sectors shorter than its file, and is counted with them.
            let was_true = u64::from(boot.count) * BLOCK >= partition.fat.length();
            let true_count = u16::try_from(length.div_ceil(BLOCK)).unwrap_or(0);
            let count = if was_true { true_count } else { boot.count };
            let entry = [count.to_le_bytes().as_slice(), &block.to_le_bytes()].concat();
            self.assembly.patch(boot.count_at(), entry);
        }
        self.moved.push(Moved { from: partition.fat.start(), to: start, length });
        Ok(start)
    }

    /// Writes a new place and length into each name of a file.
    fn redirect(&mut self, places: &[NamePlace], start: u64, length: u64) -> Result<(), OverlayError> {
        let length = u32::try_from(length).map_err(|_| OverlayError::TooLarge)?;
        for place in places {
            let block = block(start)?.saturating_sub(place.base);
            self.assembly.patch(place.at, [both_orders(block), both_orders(length)].concat());
        }
        Ok(())
    }

    /// Makes volumes and partitions as large as the image has become.
    fn enclose(&mut self, image: &Image) -> Result<(), OverlayError> {
        let extents = self.assembly.end();
        if extents == image.length {
            return Ok(());
        }
        for volume in &image.volumes.trees {
            let blocks = block(extents)?.saturating_sub(volume.base).max(volume.blocks);
            self.assembly.patch(volume.space_size_at, both_orders(blocks));
        }
        let unit =
            Some(image.mbr.unit(image.length)).filter(|unit| unit.is_multiple_of(SECTOR)).unwrap_or(SECTOR);
        let copy = image.gpt.as_ref().map_or(0, |gpt| gpt.copy_length());
        let length = (extents + copy).next_multiple_of(unit);
        let volume = image.volumes.trees.first().map_or(0, |volume| u64::from(volume.blocks) * SECTOR);
        let growth = Growth { original: image.length, volume, extents, length };
        self.assembly.append(length - copy - extents, What::Zeros);
        if let Some(gpt) = &image.gpt {
            let changed = gpt.changed(&growth, &self.moved);
            self.assembly.append(copy, What::Memory(changed.copy.into()));
            self.assembly.patch(BLOCK, changed.header);
            self.assembly.patch(changed.entries_at, changed.entries);
        }
        for (at, entry) in image.mbr.changed(&growth, &self.moved) {
            self.assembly.patch(at, entry);
        }
        Ok(())
    }
}

/// A place as ISO 9660 counts.
fn block(start: u64) -> Result<u32, OverlayError> {
    u32::try_from(start / SECTOR).map_err(|_| OverlayError::TooLarge)
}
