//! The machine's network interfaces, as the kernel tells of them below `/sys`.

use std::fs;
use std::io;
use std::path::Path;

use super::Mac;

/// The kernel's number for Ethernet, among the kinds of hardware.
const ETHERNET: &str = "1";

/// An Ethernet interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's name for it.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// Its address on the wire.
    pub mac: Mac,
    /// Whether there is a device behind it, and not only a program.
    pub is_hardware: bool,
    /// Whether the other end of the cable is there. It can be told only while the interface is up.
    pub has_link: bool,
}

/// All Ethernet interfaces, in the kernel's order.
///
/// # Errors
/// The kernel does not say.
pub fn interfaces(sys: &Path) -> io::Result<Vec<Interface>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(sys.join("class/net"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // It may be gone again, and there are files beside the interfaces.
        found.extend(interface(&entry.path(), name));
    }
    found.sort_by_key(|interface| interface.index);
    Ok(found)
}

fn interface(directory: &Path, name: String) -> Option<Interface> {
    let text = |file: &str| fs::read_to_string(directory.join(file)).map(|text| text.trim().to_owned()).ok();
    if text("type")? != ETHERNET {
        return None;
    }
    Some(Interface {
        name,
        index: text("ifindex")?.parse().ok()?,
        mac: text("address")?.parse().ok()?,
        is_hardware: directory.join("device").exists(),
        // Of one that is down this can't be read.
        has_link: text("carrier").is_some_and(|carrier| carrier == "1"),
    })
}

/// Those that may lead to the server: the one that is named, or all that are hardware. Those that have a link come first.
#[must_use]
pub fn candidates(all: Vec<Interface>, wanted: Option<Mac>) -> Vec<Interface> {
    let is_candidate = |interface: &Interface| match wanted {
        Some(mac) => interface.mac == mac,
        None => interface.is_hardware,
    };
    let mut found: Vec<Interface> = all.into_iter().filter(is_candidate).collect();
    // A bond has its first member's MAC address: what is hardware is meant.
    found.sort_by_key(|interface| (!interface.has_link, !interface.is_hardware));
    if wanted.is_some() {
        found.truncate(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interface below a `/sys`, by the files that the kernel has for it.
    fn add(sys: &Path, name: &str, files: &[(&str, &str)]) {
        let directory = sys.join("class/net").join(name);
        fs::create_dir_all(&directory).unwrap();
        files.iter().for_each(|(file, text)| fs::write(directory.join(file), format!("{text}\n")).unwrap());
    }

    fn named(name: &str, last: u8, is_hardware: bool, has_link: bool) -> Interface {
        let mac = Mac([0x52, 0x54, 0, 0, 0, last]);
        Interface { name: name.to_owned(), index: last.into(), mac, is_hardware, has_link }
    }

    #[test]
    fn interfaces_are_found_with_what_is_known_of_them() {
        let sys = tempfile::tempdir().unwrap();
        let ethernet = |index: &'static str, mac: &'static str| {
            vec![("type", "1"), ("ifindex", index), ("address", mac)]
        };
        let with = |mut files: Vec<(&'static str, &'static str)>, more| {
            files.push(more);
            files
        };
        add(
            sys.path(),
            "lo",
            &[("type", "772"), ("ifindex", "1"), ("address", "00:00:00:00:00:00"), ("carrier", "1")],
        );
        add(sys.path(), "enp3s0", &with(ethernet("3", "52:54:00:00:00:03"), ("carrier", "1")));
        add(sys.path(), "enp2s0", &with(ethernet("2", "52:54:00:00:00:02"), ("carrier", "0")));
        add(sys.path(), "dummy0", &ethernet("4", "52:54:00:00:00:04"));
        for name in ["enp2s0", "enp3s0"] {
            fs::create_dir(sys.path().join("class/net").join(name).join("device")).unwrap();
        }
        fs::write(sys.path().join("class/net/bonding_masters"), "\n").unwrap();
        let expected = [
            named("enp2s0", 2, true, false),
            named("enp3s0", 3, true, true),
            named("dummy0", 4, false, false),
        ];
        assert_eq!(interfaces(sys.path()).unwrap(), expected);
        assert!(interfaces(&sys.path().join("nowhere")).is_err());
    }

    #[test]
    fn the_named_one_is_chosen_or_hardware_with_a_link_first() {
        let all = || vec![named("a", 1, true, false), named("b", 2, false, true), named("c", 3, true, true)];
        let names = |wanted: Option<Mac>| -> Vec<String> {
            candidates(all(), wanted).into_iter().map(|interface| interface.name).collect()
        };
        assert_eq!(names(None), ["c", "a"]);
        assert_eq!(names(Some(Mac([0x52, 0x54, 0, 0, 0, 2]))), ["b"]);
        assert!(names(Some(Mac([0; 6]))).is_empty());
        let member = named("a", 1, true, true);
        let bond = named("bond0", 1, false, true);
        assert_eq!(candidates(vec![bond, member.clone()], Some(member.mac)), [member]);
    }
}
