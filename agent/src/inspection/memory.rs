//! How much memory a machine has.

use std::{fs, path::Path};

use super::smbios::{Structure, Table};

/// A socket for memory, with or without something in it.
const MEMORY_DEVICE: u8 = 17;

/// All modules together, as firmware knows them. None where it does not tell.
pub fn installed(table: &Table) -> Option<u64> {
    let modules = table.structures().filter(|structure| structure.kind == MEMORY_DEVICE);
    let bytes = modules.filter_map(module).fold(0, u64::saturating_add);
    (bytes > 0).then_some(bytes)
}

fn module(structure: Structure<'_>) -> Option<u64> {
    /// ROM, flash and their like, and memory that keeps its content, which the kernel takes for a disk.
    const OTHER: [u8; 6] = [0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x1f];
    if structure.byte(0x12).is_some_and(|kind| OTHER.contains(&kind)) {
        return None;
    }
    match structure.word(0x0c)? {
        // Nothing is in it, or it does not know what.
        0 | 0xffff => None,
        // It does not fit here.
        0x7fff => structure.double_word(0x1c).map(|megabytes| u64::from(megabytes & 0x7fff_ffff) << 20),
        small if small & 0x8000 != 0 => Some(u64::from(small & 0x7fff) << 10),
        megabytes => Some(u64::from(megabytes) << 20),
    }
}

/// What the kernel has of it.
pub fn of_kernel(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    /// A module, as the second version of the standard has it.
    fn module(size: u16, extended: u32, kind: u8) -> Vec<u8> {
        let mut fields = vec![0; 0x22];
        fields[0] = MEMORY_DEVICE;
        fields[1] = 0x22;
        fields[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
        fields[0x12] = kind;
        fields[0x1c..0x20].copy_from_slice(&extended.to_le_bytes());
        fields.extend([0, 0]);
        fields
    }

    #[test]
    fn modules_are_added_up() {
        let ddr4 = 0x1a;
        for (name, modules, expected) in [
            ("none", vec![], None),
            ("an empty socket", vec![module(0, 0, ddr4)], None),
            ("an unknown one", vec![module(0xffff, 0, ddr4)], None),
            ("two of 16 GiB", vec![module(0x4000, 0, ddr4), module(0x4000, 0, ddr4)], Some(32 << 30)),
            ("one of 64 GiB", vec![module(0x7fff, 65536, ddr4), module(0, 0, ddr4)], Some(64 << 30)),
            ("one of 512 KiB", vec![module(0x8200, 0, ddr4)], Some(512 << 10)),
            ("the firmware's flash", vec![module(16, 0, 0x09), module(0x400, 0, ddr4)], Some(1 << 30)),
            ("memory that is a disk", vec![module(0x7fff, 131_072, 0x1f)], None),
        ] {
            assert_eq!(installed(&Table::new(&modules.concat())), expected, "{name}");
        }
    }

    #[test]
    fn the_kernels_number_is_in_kilobytes() {
        for (text, expected) in [
            ("MemTotal:       65843212 kB\nMemFree: 1 kB\n", Some(65_843_212 * 1024)),
            ("MemFree: 1 kB\n", None),
            ("MemTotal: many\n", None),
        ] {
            let tree = Tree::new();
            tree.file("proc/meminfo", text);
            assert_eq!(of_kernel(tree.root()), expected, "{text}");
        }
        assert_eq!(of_kernel(Tree::new().root()), None);
    }
}
