//! The processors of a machine.

use std::{collections::BTreeSet, fs, path::Path};

use beskar7_agent_protocol::hardware::Cpu;

use super::smbios::Table;
use crate::{sysfs, telling::Problem};

/// Counts them.
///
/// # Errors
/// The kernel's list can't be read.
pub fn all(root: &Path, table: &Table) -> Result<Cpu, Problem> {
    let directory = root.join("sys/devices/system/cpu");
    let names = sysfs::names(&directory).map_err(|error| {
        Problem::new("inspecting", format!("the kernel's list of processors can't be read: {error}"))
    })?;
    let (mut sockets, mut cores, mut threads) = (BTreeSet::new(), BTreeSet::new(), 0);
    for name in names.iter().filter(|name| is_processor(name)) {
        let topology = directory.join(name).join("topology");
        // One that is off has none.
        let Some(siblings) = siblings(&topology) else { continue };
        sockets.insert(sysfs::text(&topology.join("physical_package_id")));
        cores.insert(siblings);
        threads += 1;
    }
    let information = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    Ok(Cpu {
        architecture: std::env::consts::ARCH.to_owned(),
        model: field(&information, "model name").or_else(|| of_firmware(table)),
        sockets: count(&sockets),
        cores: count(&cores),
        threads,
    })
}

/// The threads that share its core: the same text for each of them.
fn siblings(topology: &Path) -> Option<String> {
    sysfs::text(&topology.join("core_cpus_list"))
        .or_else(|| sysfs::text(&topology.join("thread_siblings_list")))
}

fn count<T>(set: &BTreeSet<T>) -> u32 {
    u32::try_from(set.len()).unwrap_or(u32::MAX)
}

fn is_processor(name: &str) -> bool {
    name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
}

fn field(information: &str, name: &str) -> Option<String> {
    let mut lines = information.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
    sysfs::clean(value)
}

/// Not every architecture's kernel knows the name; firmware does.
fn of_firmware(table: &Table) -> Option<String> {
    table.structures().find(|structure| structure.kind == 4)?.text(0x10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    fn processor(tree: &Tree, number: u32, socket: u32, siblings: &str) {
        let topology = format!("sys/devices/system/cpu/cpu{number}/topology");
        tree.file(&format!("{topology}/physical_package_id"), socket.to_string());
        tree.file(&format!("{topology}/core_cpus_list"), format!("{siblings}\n"));
    }

    #[test]
    fn sockets_cores_and_threads_are_counted() {
        let tree = Tree::new();
        for (number, socket, siblings) in [
            (0, 0, "0,4"),
            (1, 0, "1,5"),
            (2, 1, "2,6"),
            (3, 1, "3,7"),
            (4, 0, "0,4"),
            (5, 0, "1,5"),
            (6, 1, "2,6"),
            (7, 1, "3,7"),
        ] {
            processor(&tree, number, socket, siblings);
        }
        tree.file("sys/devices/system/cpu/cpu8/online", "0").file("sys/devices/system/cpu/cpufreq/x", "");
        tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\n");
        let cpu = all(tree.root(), &Table::default()).unwrap();
        assert_eq!((cpu.sockets, cpu.cores, cpu.threads), (2, 4, 8));
        assert_eq!(cpu.model.as_deref(), Some("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz"));
        assert_eq!(cpu.architecture, std::env::consts::ARCH);
    }

    #[test]
    fn firmware_knows_a_model_that_the_kernel_does_not() {
        let tree = Tree::new();
        tree.file("proc/cpuinfo", "processor\t: 0\nCPU part\t: 0xd0c\n");
        let mut structure = vec![0; 0x12];
        structure[0] = 4;
        structure[1] = 0x12;
        structure[0x10] = 1;
        structure.extend(b"Ampere(R) Altra(R) Processor\0\0");
        let cpu = all(tree.root(), &Table::new(&structure)).unwrap();
        assert_eq!(cpu.model.as_deref(), Some("Ampere(R) Altra(R) Processor"));
    }
}
