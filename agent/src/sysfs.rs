//! Reading the kernel's small files.
//!
//! What is not there can not be had: which attributes a device has depends on its driver and on the kernel, and some can
//! only be read at times (the speed of a link that is down). Who must have one says so when it is missing.

use std::{fs, io, path::Path};

/// The text of an attribute, without spaces around it. None where there is none, or an empty one.
pub fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    clean(&String::from_utf8_lossy(&bytes))
}

/// Text as devices have it: filled up with spaces or zeros.
pub fn clean(text: &str) -> Option<String> {
    let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// An attribute that is a number.
pub fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// An attribute that says yes or no.
pub fn flag(path: &Path) -> bool {
    number(path).is_some_and(|number| number != 0)
}

/// The names in a directory, sorted. None where there is no directory.
///
/// # Errors
/// It can't be read.
pub fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// The name of what a link points at: a driver, a subsystem.
pub fn link_name(path: &Path) -> Option<String> {
    let target = fs::read_link(path).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// The PCI function that a device belongs to: the last one on its way from the root.
pub fn pci_address(device: &Path) -> Option<String> {
    let real = device.canonicalize().ok()?;
    let mut names = real.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.rfind(|name| is_pci_address(name))
}

/// Whether a name is one of a PCI function: `0000:00:1f.2`.
pub fn is_pci_address(name: &str) -> bool {
    let is_hex =
        |text: &str, least: usize| text.len() >= least && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let Some((rest, function)) = name.split_once('.') else { return false };
    match rest.split(':').collect::<Vec<_>>().as_slice() {
        [domain, bus, device] => {
            is_hex(domain, 4) && is_hex(bus, 2) && is_hex(device, 2) && is_hex(function, 1)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let tree = Tree::new();
        tree.file("model", "  SAMSUNG MZ \n")
            .file("empty", "\n")
            .file("zeros", "abc\0\0")
            .file("seven", "7\n");
        for (name, expected) in
            [("model", Some("SAMSUNG MZ")), ("empty", None), ("zeros", Some("abc")), ("missing", None)]
        {
            assert_eq!(text(&tree.path(name)).as_deref(), expected, "{name}");
        }
        assert_eq!(number(&tree.path("seven")), Some(7));
        assert_eq!(number(&tree.path("model")), None);
        assert!(flag(&tree.path("seven")) && !flag(&tree.path("missing")));
        assert_eq!(names(&tree.path("")).unwrap(), ["empty", "model", "seven", "zeros"]);
        assert!(names(&tree.path("missing")).unwrap().is_empty());
        assert!(names(&tree.path("model")).is_err());
    }

    #[test]
    fn a_device_belongs_to_the_last_function_on_its_way() {
        for (name, expected) in [
            ("0000:00:1f.2", true),
            ("10000:e1:00.0", true),
            ("0:0:0:0", false),
            ("pci0000:00", false),
            ("0000:00:1f.x", false),
            ("target0:0:0", false),
        ] {
            assert_eq!(is_pci_address(name), expected, "{name}");
        }
        let tree = Tree::new();
        tree.file("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/serial", "1");
        tree.link("sys/class/nvme/nvme0", "../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0");
        assert_eq!(pci_address(&tree.path("sys/class/nvme/nvme0")).as_deref(), Some("0000:01:00.0"));
        assert_eq!(pci_address(&tree.path("sys/class")), None);
    }
}
